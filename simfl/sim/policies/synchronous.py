"""Synchronous rounds: everybody starts together, the server waits for all or until a deadline.

The straggler deadline is FedCore's (Guo et al., section 3.1 and algorithms.md F.2): the percentile
of the devices' full-workload times that makes the slowest share of the fleet stragglers.
"""

import numpy as np
from pydantic import Field

from simfl.sim.deadlines import Deadline, deadline_s
from simfl.sim.policies.base import Process, RoundPolicy, policies
from simfl.sim.server import Server


@policies.register("synchronous")
class Synchronous(RoundPolicy):
    """Select, wait, aggregate.

    An update that lands exactly on the deadline counts.  Who is still at work then is called off:
    its time, bytes and energy are spent, its update is never trained.
    """

    deadline: Deadline = Field(
        None, description="how long a round may last: none | a duration | {stragglers: 30%}"
    )
    enforce: bool = Field(
        True,
        description="false: the deadline is only a yardstick (normalised time); all are waited for",
    )

    def run(self, server: Server) -> Process:
        """See `RoundPolicy.run`."""
        yardstick_s = deadline_s(self.deadline, server)
        limit_s = yardstick_s if self.enforce else float("inf")
        while not server.finished:
            yield from server.wait_for_devices()
            if server.finished:
                return
            server.open_round()
            if np.isfinite(yardstick_s):
                server.books.tally.deadline_s = yardstick_s
            chosen = yield from server.select(server.settings.clients)
            over_s = server.timeline.now + limit_s
            sent = [server.dispatch(client, limit_s, copies) for client, copies in chosen.items()]
            parts = [part for part in sent if part is not None]
            done = server.timeline.all_of([part.process for part in parts if part.process])
            if np.isfinite(over_s):
                # Nobody sent: the server learns of it only when the time is up.
                over = server.timeline.deadline(over_s)
                yield (done | over) if parts else over
                yield server.call_off(part.process for part in parts if part.process)
            else:
                yield done
            server.aggregate(server.settle(parts), chosen)
