"""Semi-synchronous rounds: aggregate on the beat, whatever has arrived; others work on.

Time windows as in SAFA (Wu et al., 2021, arXiv:1910.01355) and the semi-synchronous protocol of
Stripelis, Thompson & Ambite (2022, arXiv:2102.02849), without the former's cache and the latter's
filling of fast clients' time.
"""

from typing import Annotated

from pydantic import Field
from typing_extensions import override

from simfl.sim.policies.base import Process, RoundPolicy, policies
from simfl.sim.server.deadlines import Length
from simfl.sim.server.server import Server


@policies.register("semi_synchronous")
class SemiSynchronous(RoundPolicy):
    """Every `period` aggregate what has arrived, then send out as many as are missing.

    Who is not back at the beat works on, and its update is used, stale, at the beat that follows
    its arrival.  Who is back early waits for the beat.  A window in which nothing arrives counts as
    a round; while nobody trains or answers the selector and nobody could, the beat rests.
    """

    refills = True

    period: Length = Field(
        examples=["30 s"],
        description="length of a window: a duration, or {stragglers: 30%}: the time that all but "
        "this share of the fleet need",
    )

    concurrency: Annotated[int, Field(ge=1)] | None = Field(
        None, description="how many clients work at once, at most; default rounds.clients"
    )
    max_staleness: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="an update based on a model more versions old than this is dropped; default: "
        "no limit",
    )

    @override
    def run(self, server: Server) -> Process:
        period_s = server.deadline_s(self.period)
        active = server.keep_active(self.concurrency or server.settings.clients, beats=True)
        while not server.finished:
            if not server.candidates.busy:
                yield from server.until_somebody()
                if server.finished:
                    return
            server.open_round(period_s)
            beat = server.timeline.time_up(server.timeline.now + period_s)
            active.hire()
            yield beat
            kept = []
            for part in active.take():
                if server.too_stale(part, self.max_staleness):
                    server.discard(part, "late")
                else:
                    kept.append(part)
            yield from server.aggregate(kept)
