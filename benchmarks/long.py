"""Runs of very many rounds: whether memory stays flat, and what it costs to go on near the end.

    python -m benchmarks.long [--rounds N] [--only clock|trained|trained-zst]

Each run is interrupted 100 rounds before its end, in a process of its own, and gone on with in
another.  Memory is resident: when a hundredth of the rounds, and when the last one, opens.  Seconds
are CPU time.  For each kind the same is done with a tenth of the rounds, so that it shows how costs
grow.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import leave
from simfl import Options, Scenario
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one

LEFT = 100
"""Rounds that are left when a run is interrupted."""
KINDS = {
    "clock": Options(time_only=True),
    "trained": Options("inline"),
    "trained-zst": Options("inline", compress_log=True),
}


def scenario(rounds: int) -> Scenario:
    """Return a tiny scenario of so many rounds."""
    return Scenario.from_dict(
        {
            "name": "long",
            "data": {"dataset": {"name": "synthetic_images", "samples": 60, "test_samples": 20,
                                 "size": 4}},
            "model": "logistic_regression",
            "fleet": {
                "count": 10,
                "compute": {"distribution": "lognormal", "median": "50 samples/s", "sigma": 0.5},
                "uplink": "1 Mbit/s",
                "availability": {"name": "on_off", "on": "10 min", "off": "2 min"},
            },
            "training": {"steps": 1, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.01}},
            "rounds": {"clients": 2, "stop": {"rounds": rounds}},
            "evaluation": {"every": 100},
        }
    )  # fmt: skip


def resident_mb() -> float:
    """Return how much memory this process has."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def work(kind: str, rounds: int, folder: Path) -> None:
    """Run, or go on with, the run in `folder`; print what it took."""
    goes_on, seen = folder.exists(), dict[int, float]()
    last = rounds if goes_on else rounds - LEFT

    def note(_time_s: float, event: str, facts: dict[str, Any]) -> None:
        if event == "round" and facts["round"] in (max(rounds // 100, 1), last):
            seen[facts["round"]] = resident_mb()
            if facts["round"] == last and not goes_on:
                raise KeyboardInterrupt

    began = time.process_time()
    try:
        if goes_on:
            resume(folder, KINDS[kind], [note])
        else:
            run_one(Job("default", scenario(rounds), folder), KINDS[kind], [note])
    except KeyboardInterrupt:
        pass
    print(json.dumps({"cpu_s": time.process_time() - began, "mb": list(seen.values())}))


def measured(kind: str, rounds: int) -> dict[str, Any]:
    """Return what a run, and going on with it near its end, took."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "run"
        command = [sys.executable, "-m", "benchmarks.long", "--work", str(folder)]
        command += ["--only", kind, "--rounds", str(rounds)]
        ran, went_on = (
            json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            for _ in range(2)
        )
        files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "kind": kind,
        "rounds": rounds,
        "run_cpu_s": ran["cpu_s"],
        "early_mb": ran["mb"][0],
        "late_mb": ran["mb"][-1],
        "going_on_cpu_s": went_on["cpu_s"],
        "going_on_mb": went_on["mb"][-1],
        "folder_mb": files / 1e6,
    }


def main() -> None:
    """Measure every kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.only, given.rounds, given.work)
        return
    rows = [
        measured(kind, rounds)
        for kind in ([given.only] if given.only else KINDS)
        for rounds in (given.rounds // 10, given.rounds)
    ]
    leave("long", {"runs of many rounds": rows})


if __name__ == "__main__":
    main()
