"""Pictures of the report for README and docs/after.md, of real runs, photographed in Chromium.

    python -m analysis.screenshots [--seeds 0-2] [--runs runs/screenshots] [--out docs/images]

Runs the quickstart's four variants with several seeds, writes their reports, and photographs the
first screens of the comparison and of one run.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from simfl import run
from simfl.report import write_reports
from simfl.scenario import Scenario
from simfl.scenario.parts.experiment import parse_seeds

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.yaml"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--virtual-time-budget=3000",
)  # fmt: skip


def photograph(page: Path, size: tuple[int, int], to: Path) -> None:
    """Write a picture of what a window of `size` shows of `page`."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("needs Chromium (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory() as profile:
        window = (f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}")
        address = page.resolve().as_uri()
        command = [chromium, *FLAGS, *window, f"--screenshot={to.resolve()}", address]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Simulate, report, photograph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--runs", type=Path, default=Path("runs/screenshots"))
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    options = parser.parse_args()
    scenario = Scenario.load(QUICKSTART)
    seeds = parse_seeds(options.seeds)
    results = run(scenario, options.runs, overwrite=True, seeds=seeds)
    write_reports(results, options.runs)
    photograph(options.runs / "report.html", (1100, 1650), options.out / "report.png")
    one = next(result for result in results if result.variant == "FedAvg")
    photograph(one.folder / "report.html", (1100, 1370), options.out / "run.png")


if __name__ == "__main__":
    main()
