"""The comparison: `python -m testbed [SCENARIO.yaml ...] --out RESULTS.json`.

What has been compared is written after each scenario.  Scenarios that are named replace their own
results in the file and leave the others alone; earlier real runs are kept, to be held against.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.environments import NotInstalled
from simfl import Options
from simfl.errors import SimflError
from testbed.commands import Refused
from testbed.compare import VARIANTS, compare, variants
from testbed.namespaces import NoQuotas, check
from testbed.orders import repeated
from testbed.tables import tables

HERE = Path(__file__).parent
OTHERS = 9
"""So many real runs of a scenario are kept besides the last one."""


def main() -> int:
    """Run every scenario for real, simulate it, and write how far apart they are."""
    arguments = _arguments()
    results: list[dict[str, Any]] = []
    try:
        if not arguments.loopback:
            check()
        folder, earlier = Options().data_folder(), _results(arguments.out)
        for scenario, variant in _planned(arguments):
            result = _compared(scenario, variant, arguments, folder, earlier)
            if result is not None:
                results.append(result)
                print(tables(results[-1:]), flush=True)
                _write(arguments.out, results, earlier if arguments.scenarios else [])
    except (Refused, SimflError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(tables(results))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="testbed", description=__doc__)
    parser.add_argument("scenarios", nargs="*", type=Path, help="default: testbed/scenarios")
    parser.add_argument("--out", type=Path, default=Path("build/testbed.json"))
    parser.add_argument(
        "--loopback", action="store_true", help="no namespaces, no root: links are not limited"
    )
    parser.add_argument(
        "--variants", nargs="+", choices=VARIANTS, help="default: those of the scenario"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="real runs of each scenario: N, not 1"
    )
    return parser.parse_args()


def _planned(arguments: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """Yield each scenario with each of the variants that it is compared in."""
    for scenario in arguments.scenarios or sorted((HERE / "scenarios").glob("*.yaml")):
        for variant in arguments.variants or variants(scenario):
            yield scenario, variant


def _compared(
    scenario: Path,
    variant: str,
    arguments: argparse.Namespace,
    folder: Path | None,
    earlier: list[dict[str, Any]],
) -> dict[str, Any] | None:
    """Return what is told of a scenario in a variant; None: this machine can't run that."""
    load = os.getloadavg()[0]
    try:
        result = compare(scenario, folder, variant, arguments.loopback, arguments.repeat)
    except (NotInstalled, NoQuotas) as error:
        print(f"{scenario.stem} {variant} is left out: {error}", file=sys.stderr)
        return None
    result["load"] = [load, os.getloadavg()[0]]
    result["others"] = (result["others"] + _before(result, earlier))[:OTHERS]
    simulated = {
        "ends_s": result["ends_s"]["simulated"],
        "updates": result["simulated_updates"],
    }
    result["repeated"] = repeated([_real(result), *result["others"]], simulated)
    return result


def _results(path: Path) -> list[dict[str, Any]]:
    """Return what an earlier comparison wrote."""
    return list(json.loads(path.read_text())["results"]) if path.exists() else []


def _before(result: dict[str, Any], earlier: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the real runs of the same scenario that an earlier comparison kept, latest first."""
    for other in earlier:
        if other["name"] == result["name"]:
            return [_real(other), *other.get("others", [])]
    return []


def _real(result: dict[str, Any]) -> dict[str, Any]:
    return {"ends_s": result["ends_s"]["measured"], "updates": result["updates"]}


def _write(
    path: Path, results: list[dict[str, Any]], earlier: Sequence[dict[str, Any]] = ()
) -> None:
    """Write results, in place of the same scenarios' among earlier ones."""
    merged = {result["name"]: result for result in [*earlier, *results]}
    ordered = [merged[name] for name in sorted(merged)]
    path.parent.mkdir(parents=True, exist_ok=True)
    where = {"kernel": platform.release(), "cores": os.cpu_count(), "at": time.strftime("%F %H:%M")}
    path.write_text(json.dumps({"machine": where, "results": ordered}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
