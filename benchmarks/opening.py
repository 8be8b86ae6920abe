"""How large the page of a whole study is, and how long it takes to write and to open in Chromium.

    python -m benchmarks.opening [--variants N] [--seeds N] [--rounds N] [--repeats N]

Nine variants with three seeds and 100 rounds are to be less than 8 MB and open within 2 s.  Opened
means: loaded, its script done and everything laid out, from the beginning of the navigation.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import leave
from simfl import run
from simfl.report import write_report
from simfl.scenario import Scenario

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1280,1000", "--dump-dom",
)  # fmt: skip
OPENED = """<script>addEventListener("load", () => {
  document.body.getBoundingClientRect();
  document.documentElement.dataset.opened = performance.now(); });</script></body>"""


def study(variants: int, seeds: int, rounds: int) -> Scenario:
    """Return a small scenario with so many variants, seeds and rounds."""
    changes = {
        f"lr-{n}": {"training.optimizer": {"name": "sgd", "lr": 0.02 * (n + 1)}}
        for n in range(variants)
    }
    return Scenario.from_dict(
        {
            "name": "study",
            "data": {"dataset": {"name": "synthetic_images", "samples": 400, "size": 6}},
            "model": {"name": "mlp", "hidden": [8]},
            "fleet": {
                "count": 40,
                "compute": {"distribution": "lognormal", "median": "50 samples/s", "sigma": 0.5},
                "uplink": "1 Mbit/s",
                "power": {"compute": "4 W", "upload": "2 W"},
            },
            "training": {"epochs": 1, "batch_size": 8},
            "rounds": {"clients": 8, "policy": {"name": "synchronous", "deadline": "1 s"},
                       "stop": {"rounds": rounds}},
            "evaluation": {"targets": [0.5, 0.7]},
            "variants": changes,
            "seeds": list(range(seeds)),
        }
    )  # fmt: skip


def opening_s(page: Path) -> float:
    """Return how long Chromium takes to open `page`."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("needs Chromium (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "page.html"
        told.write_text(page.read_text(encoding="utf-8").replace("</body>", OPENED))
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", told.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    match = re.search(r'data-opened="([\d.]+)"', done.stdout)
    if match is None:
        raise SystemExit(f"Chromium did not open the page: {done.stderr[-500:]}")
    return float(match[1]) / 1000


def main() -> None:
    """Run the study, write its page, open it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("variants", 9), ("seeds", 3), ("rounds", 100), ("repeats", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = run(study(given.variants, given.seeds, given.rounds), Path(folder))
        began = time.perf_counter()
        page = write_report(results, Path(folder) / "report.html")
        wrote_s = time.perf_counter() - began
        opened = [opening_s(page) for _ in range(given.repeats)]
        row: dict[str, Any] = {
            "variants": given.variants,
            "seeds": given.seeds,
            "rounds": given.rounds,
            "page_mb": page.stat().st_size / 1e6,
            "written_s": wrote_s,
            "opened_s": median(opened),
            "slowest_s": max(opened),
        }
    leave("opening", {"a study's page": [row]})


if __name__ == "__main__":
    main()
