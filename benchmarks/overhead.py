"""What a run costs beside its arithmetic, and how soon it starts.

    python -m benchmarks.overhead [--rounds N] [--only W1]

A workload is run for real, as `simfl run` does, while the calls of its executor (training,
evaluation) are timed and kept; then the same calls are made again, alone.  Whatever the run took
beyond them is overhead: events, bookkeeping, logs, selection, aggregation.  Seconds are CPU time of
the process, which others on the machine disturb less.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.report import leave
from benchmarks.workloads import scenario
from simfl import run
from simfl.core.evaluation import Evaluation
from simfl.core.work import OrderBatch, WorkResult
from simfl.runs.job import Job
from simfl.runs.options import Options
from simfl.sim.timeline import Listener
from simfl.training.executors.base import executors
from simfl.training.executors.inline import Inline

T = TypeVar("T")
Call = Callable[[], object]
CALLS: list[tuple[str, Call, float]] = []
"""What the executor was asked, and how long it took."""


@executors.register("recorded")
class Recorded(Inline):
    """`inline`, with its calls timed and kept."""

    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """See `Executor.train`."""
        return timed("training", lambda: Inline.train(self, batch))

    def evaluate(self, *args: Any) -> Evaluation:
        """See `Executor.evaluate`."""
        return timed("evaluation", lambda: Inline.evaluate(self, *args))

    def close(self) -> None:
        """See `Executor.close`; the calls must be able to be made again."""


def timed(kind: str, call: Callable[[], T]) -> T:
    """Make `call` and keep it."""
    began = time.process_time()
    found = call()
    CALLS.append((kind, call, time.process_time() - began))
    return found


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Return the shares of one workload."""
    CALLS.clear()
    marks: list[float] = []

    def listen(_: Job) -> list[Listener]:
        def note(_time_s: float, kind: str, _facts: dict[str, Any]) -> None:
            if kind == "round_end":
                marks.append(time.process_time())

        return [note]

    with tempfile.TemporaryDirectory() as folder:
        run(scenario(name, rounds), Path(folder) / "out", Options("recorded"), listen=listen)
    first = sum(kind == "training" for kind, _, _ in CALLS) - (rounds - 1)
    assert first == 1, "one training a round"
    # The first round warms up; what is measured lies between two ends of rounds.
    in_run = marks[-1] - marks[0]
    later = CALLS[2:]
    inside = {k: sum(s for kind, _, s in later if kind == k) for k in ("training", "evaluation")}
    again = []
    for _ in range(3):
        began = time.process_time()
        for _, call, _ in later:
            call()
        again.append(time.process_time() - began)
    alone = statistics.median(again)
    arithmetic = inside["training"] + inside["evaluation"]
    return {
        "workload": name,
        "round_ms": 1e3 * in_run / (rounds - 1),
        "training_ms": 1e3 * inside["training"] / (rounds - 1),
        "evaluation_ms": 1e3 * inside["evaluation"] / (rounds - 1),
        "alone_ms": 1e3 * alone / (rounds - 1),
        "rest_ms": 1e3 * (in_run - arithmetic) / (rounds - 1),
        "rest_%": 100 * (in_run - arithmetic) / in_run,
        "beyond_alone_%": 100 * (in_run - alone) / in_run,
    }


def laziness(rounds: int) -> list[dict[str, Any]]:
    """Return what it saves not to train what no aggregation uses."""
    straggling = {"name": "synchronous", "deadline": {"stragglers": "30%"}, "over_select": "130%"}
    ways: dict[str, dict[str, Any]] = {
        "13 asked, 10 and the deadline close a round": {
            "rounds": {"clients": 10, "policy": straggling, "stop": {"rounds": rounds}}
        },
        "13 asked, all are trained": {"rounds": {"clients": 13, "stop": {"rounds": rounds}}},
    }
    rows = []
    for label, changes in ways.items():
        CALLS.clear()
        with tempfile.TemporaryDirectory() as folder:
            found = run(scenario("W1", rounds, changes), Path(folder) / "out", Options("recorded"))
            trainings = found[0].summary["trainings"]
        spent = sum(seconds for kind, _, seconds in CALLS if kind == "training")
        rows.append(
            {
                "W1": label,
                "asked": trainings["issued"],
                "trained": trainings["computed"],
                "training_ms_per_round": 1e3 * spent / rounds,
            }
        )
    return rows


def start_up(repeats: int) -> list[dict[str, Any]]:
    """Return how long it takes until the user sees something."""
    simfl = [sys.executable, "-m", "simfl"]
    quickstart = Path(__file__).parent.parent / "scenarios" / "quickstart.yaml"
    rows = []
    for label, words in {
        "simfl --help": ["--help"],
        "simfl validate quickstart.yaml": ["validate", str(quickstart)],
    }.items():
        took = []
        for _ in range(repeats):
            began = time.perf_counter()
            subprocess.run([*simfl, *words], check=True, capture_output=True)
            took.append(time.perf_counter() - began)
        rows.append({"command": label, "median_s": statistics.median(took), "best_s": min(took)})
    took = [_first_round(simfl, quickstart) for _ in range(repeats)]
    label = "simfl run quickstart.yaml, until its first round is written"
    rows.append({"command": label, "median_s": statistics.median(took), "best_s": min(took)})
    return rows


def _first_round(simfl: Sequence[str], quickstart: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        words = ["run", str(quickstart), "--quiet", "--out", folder + "/out"]
        process = subprocess.Popen([*simfl, *words])
        try:
            while not any(
                file.read_text().count("\n") > 1 for file in Path(folder).rglob("rounds.csv")
            ):
                if process.poll() is not None:
                    raise SystemExit("the quickstart ended before its first round")
                time.sleep(0.005)
            return time.perf_counter() - began
        finally:
            process.kill()
            process.wait()


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", nargs="+", default=["W1", "W3"])
    parser.add_argument("--repeats", type=int, default=5, help="of the start-up times")
    given = parser.parse_args()
    shares = [measure(name, given.rounds) for name in given.only]
    leave(
        "overhead",
        {
            "One round of a whole run, CPU milliseconds": shares,
            "Laziness": laziness(given.rounds),
            "Start-up, seconds by the clock on the wall": start_up(given.repeats),
        },
        [
            "rest: the run without its executor's calls, timed inside it.",
            "beyond_alone: the run without the same calls made again afterwards, alone.",
        ],
    )


if __name__ == "__main__":
    main()
