"""What of an upload that is called off is sent all the same, by when it is called off.

    python -m testbed.broken_off

The scenario `deadline`, with other deadlines: its two slow clients are called off while they send.
Told are the bytes of an update that were left to send at their link's rate, and how many of them
crossed the client's interface afterwards: those that gRPC was writing, and the kernel's.
"""

import math
import tempfile
from pathlib import Path

from simfl import Options, Scenario
from simfl.build.builder import Builder
from testbed.measure import measure
from testbed.namespaces import Namespaces
from testbed.wire import GRPC, PER_ANSWERED_BYTE

DEADLINES_S = (2.1, 2.2, 2.3, 2.4, 2.5, 2.6)
SCENARIO = Path(__file__).parent / "scenarios" / "deadline.yaml"
ROUNDS, CLIENT = 3, 0


def main() -> None:
    """Print a line a deadline."""
    print("{:>10}{:>12}{:>22}".format("deadline", "left, B", "sent all the same, B"))
    for deadline_s in DEADLINES_S:
        left, sent = beyond(deadline_s)
        print(f"{deadline_s:>8.1f} s{left:>12.0f}{sent:>22.0f}", flush=True)


def beyond(deadline_s: float) -> tuple[float, float]:
    """Return the bytes of an update that are left at a deadline, and that are sent after it."""
    changes = [f"rounds.policy.deadline={deadline_s} s", f"rounds.stop.rounds={ROUNDS}"]
    scenario = Scenario.load(SCENARIO, ["data.dataset=synthetic_images", *changes])
    builder = Builder(scenario, None, False, Options().make_executor())
    fleet, size = builder.fleet, 4 * builder.model.parameters
    links = list(zip(fleet.downlink_bps, fleet.uplink_bps, strict=True))
    free = (math.inf, math.inf)
    with Namespaces(free, links, size) as network, tempfile.TemporaryDirectory() as folder:
        real = measure(builder, network, Path(folder), None)
    ends_s = real.clients[real.clients.client == CLIENT].compute_end_s.to_numpy()
    moved_s = (real.rounds.closed_s.to_numpy() - ends_s).clip(min=0).mean()
    in_time = moved_s * fleet.uplink_bps[CLIENT] / 8 / (1 + GRPC.per_byte)
    others = GRPC.up + GRPC.opening_up / ROUNDS + size * PER_ANSWERED_BYTE
    sent = (real.wire[f"c{CLIENT}"][1] / ROUNDS - others) / (1 + GRPC.per_byte)
    return size - in_time, sent - in_time


if __name__ == "__main__":
    main()
