"""A study of four variants and three seeds: on one core, and as `simfl run` does it by itself.

    python -m benchmarks.study [--rounds N] [--repeats N]

Whole processes, in turns; the number of rounds decides how long a run is.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import leave

WAYS = {"one core": ["--executor", "inline", "--jobs", "1"], "simfl run": []}
STUDY: dict[str, Any] = {
    "name": "study",
    "data": {"dataset": {"name": "synthetic_images", "samples": 12_000, "size": 28}},
    "model": {"name": "mlp", "hidden": [64, 30]},
    "fleet": {"count": 100, "compute": "100 samples/s", "uplink": "1 Mbit/s"},
    "training": {"epochs": 5, "batch_size": 32},
    "rounds": {"clients": 10},
    "variants": {f"lr-{n}": {"training.optimizer.lr": 0.01 * n} for n in range(1, 5)},
    "seeds": "0-2",
}


def wall_s(rounds: int, options: list[str]) -> float:
    """Return how long the whole study takes."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "study.yaml"
        study = {**STUDY, "rounds": {**STUDY["rounds"], "stop": {"rounds": rounds}}}
        scenario.write_text(json.dumps(study), encoding="utf-8")  # JSON is YAML
        command = [sys.executable, "-m", "simfl", "run", str(scenario), "--out", f"{folder}/runs"]
        began = time.perf_counter()
        subprocess.run([*command, "--quiet", "--no-report", *options], check=True)
        return time.perf_counter() - began


def main() -> None:
    """Measure, and leave the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(given.repeats):
        for way, options in WAYS.items():
            times[way].append(wall_s(given.rounds, options))
    alone = median(times["one core"])
    rows = [
        {"way": way, "wall_s": round(median(taken), 1), "faster": round(alone / median(taken), 2)}
        for way, taken in times.items()
    ]
    leave("study", {f"{given.rounds} rounds a run, median of {given.repeats}": rows})


if __name__ == "__main__":
    main()
