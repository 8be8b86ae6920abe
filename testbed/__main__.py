"""The comparison: `python -m testbed [SCENARIO.yaml ...] --out RESULTS.json`.

What has been compared is written after each scenario.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.environments import NotInstalled
from simfl import Options
from simfl.errors import SimflError
from testbed.compare import VARIANTS, compare, variants
from testbed.namespaces import NoQuotas, Refused, check
from testbed.orders import repeated
from testbed.tables import tables

HERE = Path(__file__).parent


def main() -> int:
    """Run every scenario for real, simulate it, and write how far apart they are."""
    parser = argparse.ArgumentParser(prog="testbed", description=__doc__)
    parser.add_argument("scenarios", nargs="*", type=Path, help="default: testbed/scenarios")
    parser.add_argument("--out", type=Path, default=Path("build/testbed.json"))
    parser.add_argument(
        "--loopback", action="store_true", help="no namespaces, no root: links are not limited"
    )
    parser.add_argument(
        "--variants", nargs="+", choices=VARIANTS, help="default: those of the scenario"
    )
    arguments = parser.parse_args()
    scenarios = arguments.scenarios or sorted((HERE / "scenarios").glob("*.yaml"))
    results: list[dict[str, Any]] = []
    try:
        if not arguments.loopback:
            check()
        folder = Options().data_folder()
        earlier = _results(arguments.out)
        for scenario in scenarios:
            for variant in arguments.variants or variants(scenario):
                load = os.getloadavg()[0]
                try:
                    result = compare(scenario, folder, variant, arguments.loopback)
                except (NotInstalled, NoQuotas) as error:
                    print(f"{scenario.stem} {variant} is left out: {error}", file=sys.stderr)
                    continue
                result |= {
                    "load": [load, os.getloadavg()[0]],
                    "repeated": repeated(result, earlier),
                }
                results.append(result)
                print(tables(results[-1:]), flush=True)
                _write(arguments.out, results)
    except (Refused, SimflError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(tables(results))
    return 0


def _results(path: Path) -> list[dict[str, Any]]:
    """Return what an earlier comparison wrote."""
    return list(json.loads(path.read_text())["results"]) if path.exists() else []


def _write(path: Path, results: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    where = {"kernel": platform.release(), "cores": os.cpu_count(), "at": time.strftime("%F %H:%M")}
    path.write_text(json.dumps({"machine": where, "results": results}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
