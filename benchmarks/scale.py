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
from typing import Any, Literal

from benchmarks.report import leave

SCENARIOS = Path(__file__).parent.parent / "scenarios"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TURNS = 4
"""Policies are measured in turns, so often; the least time counts, for others only add to it."""


def measure(
    scenario: str, changes: list[str], time_only: bool, log: Literal["full", "rounds", "none"]
) -> dict[str, Any]:
    """Run a scenario here; return what it cost."""
    began, cpu_began = time.perf_counter(), time.process_time()
    from simfl import run
    from simfl.runs.job import Job
    from simfl.runs.options import Options
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
        options = Options(time_only=time_only, log=log)
        result = run(document, Path(folder) / "runs", options, listen=listen)[0]
        summary = result.summary
        participations = sum(summary["participations"].values())
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


def policies(rounds: int) -> list[dict[str, Any]]:
    """Return what a participation costs under each policy, and with less recorded."""
    synchronous = "rounds.policy=synchronous"
    buffered = "rounds.policy={name: fedbuff, buffer: 100}"
    ways = {
        "synchronous": ([synchronous], rounds, "full"),
        "synchronous, --log rounds": ([synchronous], rounds, "rounds"),
        "synchronous, --log none": ([synchronous], rounds, "none"),
        "fedbuff": ([buffered], rounds, "full"),
        "fedasync": (["rounds.policy=fedasync"], 100 * rounds, "full"),
    }
    least: dict[str, dict[str, Any]] = {}
    for _ in range(TURNS):
        for label, (changes, ends, log) in ways.items():
            size = [
                "fleet.count=100000",
                "rounds.clients=100",
                f"rounds.stop={{rounds: {ends}, time: null}}",
            ]
            found = apart("million.yaml", [*size, *changes], time_only=True, log=log)
            kept = ("per_participation_us", "participations", "peak_mb", "log_mb")
            row = {"policy": label} | {key: found[key] for key in kept}
            least[label] = min(row, least.get(label, row), key=lambda r: r["per_participation_us"])
            print(row, file=sys.stderr)
    return list(least.values())


def shared_links() -> list[dict[str, Any]]:
    """Return what a round costs whose transfers share the server's link and those of cells."""
    cells = {f"cell-{i}": {"downlink": "200 Mbit/s", "uplink": "100 Mbit/s"} for i in range(20)}
    server = {"server_uplink": "2 Gbit/s", "server_downlink": "1 Gbit/s"}
    rows = []
    for chosen in (100, 1_000, 10_000):
        group = {
            "compute": {"distribution": "lognormal", "median": "50 samples/s", "sigma": 0.6},
            "downlink": {"distribution": "lognormal", "median": "20 Mbit/s", "sigma": 0.8},
            "uplink": {"distribution": "lognormal", "median": "5 Mbit/s", "sigma": 0.8},
            "count": -(-chosen // len(cells)),
        }
        fleet = [group | {"name": name, "cell": name} for name in cells]
        changes = [
            f"fleet={json.dumps(fleet)}",
            f"network={json.dumps(server | {'cells': cells})}",
            f"rounds={json.dumps({'clients': chosen, 'stop': {'rounds': 2}})}",
        ]
        found = apart("million.yaml", changes, time_only=True)
        rows.append({"transfers at once": chosen, "per_round_s": found["per_round_s"]})
        print(rows[-1], file=sys.stderr)
    return rows


def apart(scenario: str, changes: list[str], time_only: bool, log: str = "full") -> dict[str, Any]:
    """Do `measure` in a process of its own."""
    call = [sys.executable, "-m", "benchmarks.scale", "--one", scenario, json.dumps(changes)]
    call += ["--log", log]
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
    parser.add_argument("--log", default="full", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, changes = given.one[0], json.loads(given.one[1])
        print(json.dumps(measure(name, changes, given.time_only, given.log)))
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
            "100 at once out of 100,000, by policy": policies(3 * given.rounds),
            "Everybody at once, behind 20 cells and the server's link": shared_links(),
            "Whole scenarios": whole,
        },
        ["Seconds are CPU time of one process (wall_s: by the clock on the wall)."],
    )


if __name__ == "__main__":
    main()
