"""What a fleet costs: host seconds per round, set-up, memory, from a thousand devices to a million.

    python -m benchmarks.scale [--rounds N] [--quick]

Each row is a process of its own, so that its peak memory is its own.  Seconds are those of the
process (its CPU time), which other users of the machine disturb less than the clock on the wall.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import leave

SCENARIOS = Path(__file__).parent.parent / "scenarios"
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def measure(scenario: str, changes: list[str], time_only: bool) -> dict[str, Any]:
    """Run a scenario here; return what it cost."""
    began, cpu_began = time.perf_counter(), time.process_time()
    from simfl.runs.job import Job
    from simfl.runs.options import Options
    from simfl.runs.run import run
    from simfl.scenario import Document
    from simfl.sim.timeline import Listener

    rounds: list[float] = []

    def listen(_: Job) -> list[Listener]:
        def note(_time_s: float, kind: str, _facts: dict[str, Any]) -> None:
            if kind in ("round", "round_end"):
                rounds.append(time.process_time())

        return [note]

    with tempfile.TemporaryDirectory() as folder:
        document = Document.load(SCENARIOS / scenario).set(*changes)
        options = Options(time_only=time_only)
        result = run(document, Path(folder) / "runs", options, listen=listen)[0]
        summary, participations = result.summary, len(result.clients)
        log_bytes = (result.folder / "events.jsonl").stat().st_size
    done = summary["rounds"]
    in_rounds = rounds[-1] - rounds[0]
    return {
        "set_up_s": rounds[0] - cpu_began,
        "per_round_s": in_rounds / done,
        "per_participation_us": 1e6 * in_rounds / participations,
        "rounds": done,
        "participations": participations,
        "trained": summary["trainings"]["computed"],
        "virtual_h": summary["virtual_time_s"] / 3600,
        "total_s": time.process_time() - cpu_began,
        "wall_s": time.perf_counter() - began,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "log_mb": log_bytes / 1e6,
    }


def apart(scenario: str, changes: list[str], time_only: bool) -> dict[str, Any]:
    """Do `measure` in a process of its own."""
    call = [sys.executable, "-m", "benchmarks.scale", "--one", scenario, json.dumps(changes)]
    done = subprocess.run(
        [*call, "--time-only"] if time_only else call, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="of each fleet size")
    parser.add_argument("--quick", action="store_true", help="leave out the whole day")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--time-only", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], json.loads(given.one[1]), given.time_only)))
        return
    fleets = []
    for size in SIZES:
        changes = [
            f"fleet.count={size}", "rounds.clients=100", f"rounds.stop={{rounds: {given.rounds}}}"
        ]  # fmt: skip
        found = apart("million.yaml", changes, time_only=True)
        kept = ("set_up_s", "per_round_s", "per_participation_us", "peak_mb")
        fleets.append({"devices": size} | {key: found[key] for key in kept})
        print(fleets[-1], file=sys.stderr)
    whole = []
    if not given.quick:
        day = apart("million.yaml", [], time_only=True)
        print(day, file=sys.stderr)
        whole.append({"scenario": "million.yaml --time-only"} | day)
    trained = apart("hundred_thousand.yaml", [], time_only=False)
    whole.append({"scenario": "hundred_thousand.yaml"} | trained)
    leave(
        "scale",
        {
            "100 per round (130 asked) out of fleets of different sizes, virtual time only": fleets,
            "Whole scenarios": whole,
        },
        ["Seconds are CPU time of one process (wall_s: by the clock on the wall)."],
    )


if __name__ == "__main__":
    main()
