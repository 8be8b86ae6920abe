"""The comparison: `python -m testbed [SCENARIO.yaml ...] --out RESULTS.json`."""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

from simfl import Options
from simfl.errors import SimflError
from testbed.compare import compare
from testbed.namespaces import Refused, check
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
    arguments = parser.parse_args()
    scenarios = arguments.scenarios or sorted((HERE / "scenarios").glob("*.yaml"))
    try:
        if not arguments.loopback:
            check()
        folder = Options().data_folder()
        results = []
        for scenario in scenarios:
            for fair in (False, True):
                load = os.getloadavg()[0]
                result = compare(scenario, folder, arguments.loopback, fair)
                results.append({**result, "load": [load, os.getloadavg()[0]]})
                print(tables(results[-1:]), flush=True)
                if not result["shared"]:
                    break
    except (Refused, SimflError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    where = {"kernel": platform.release(), "cores": os.cpu_count(), "at": time.strftime("%F %H:%M")}
    arguments.out.write_text(json.dumps({"machine": where, "results": results}) + "\n")
    print(tables(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
