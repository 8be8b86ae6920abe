"""How steady a core is that nobody else here uses: what equal trainings need of it.

    python -m testbed.idle_core [--seconds 60]

A virtual machine's core may share a physical one with other machines, which no counter in here
tells.  The training is that of the CPU quotas' scenario, without any quota; the loop is that of its
table.  To be run while nothing else runs.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from simfl import Options, Scenario
from simfl.build.builder import Builder
from testbed.measure import training
from testbed.quotas import LOOP, seconds

SCENARIO = Path(__file__).parent / "scenarios" / "cpu_quota.yaml"
ROW = "{:<6}{:<10}{:>6}{:>10}{:>10}{:>10}{:>13}"


def main() -> None:
    """Print, of each core, how much a training and a loop differ from themselves."""
    parser = argparse.ArgumentParser(prog="testbed.idle_core", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each core")
    args = parser.parse_args()
    data_dir = Path(os.environ["SIMFL_DATA"]) if "SIMFL_DATA" in os.environ else None
    scenario = Scenario.load(SCENARIO)
    train = training(Builder(scenario, data_dir, False, Options().make_executor()), 0)
    model = np.concatenate([p.detach().numpy().ravel() for p in train.module.parameters()])
    print(ROW.format("core", "what", "n", "5%", "median", "95%", "highest/least"))
    for core in sorted(os.sched_getaffinity(0)):
        os.sched_setaffinity(0, {core})
        seconds(train, model)
        took: dict[str, list[float]] = {"training": [], "loop": []}
        until = time.monotonic() + args.seconds
        while time.monotonic() < until:
            took["training"].append(seconds(train, model))
            began = time.thread_time()
            sum(range(20 * LOOP))
            took["loop"].append(time.thread_time() - began)
        for what, values in took.items():
            spread = [f"{1000 * s:.0f} ms" for s in np.percentile(values, [5, 50, 95])]
            ratio = f"{max(values) / min(values):.2f}"
            print(ROW.format(core, what, len(values), *spread, ratio))
        together = np.corrcoef(took["training"], took["loop"])[0, 1]
        print(f"      correlation of the two {together:+.2f}")


if __name__ == "__main__":
    main()
