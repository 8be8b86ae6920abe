"""What choosing costs the server: host seconds a round, every selector, of large fleets.

    python -m benchmarks.selectors [--sizes 10000 100000] [--only divfl k_dpp] [--limit 600]

The clients' answers are made up (`simfl.testing.fake_server`); 10 of them are chosen in a round,
and another tenth of the fleet is away in each.  A row is a process of its own, given up after
`--limit` seconds.  Seconds are CPU time of one thread.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.report import known, leave
from simfl.components.selectors.base import selectors
from simfl.errors import InputError
from simfl.testing.fake_server import FakeServer

CHOSEN, DIMENSION = 10, 64
OPTIONS: dict[str, dict[str, Any]] = {"fedcor": {"warmup": 1, "interval": 3}}
"""So that its warm-up fit, its choice and its update are rounds of their own, among the first."""


def measure(name: str, clients: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of each round here, or why there are none."""
    server, rng = FakeServer.random(clients, dimension=DIMENSION), np.random.default_rng(0)
    selector = selectors.parse({"name": name, **OPTIONS.get(name, {})}).fresh()
    seconds = []
    try:
        for _ in range(rounds):
            server.available = np.flatnonzero(rng.random(clients) < 0.9)
            began = time.process_time()
            server.finish(selector, server.choose(selector, CHOSEN, rng))
            seconds.append(time.process_time() - began)
    except InputError as error:
        return {"refused": str(error)}
    return {"first_s": seconds[0], "median_s": float(np.median(seconds)), "worst_s": max(seconds)}


def apart(name: str, clients: int, rounds: int, limit_s: float) -> dict[str, Any]:
    """Do `measure` in a process of its own."""
    call = [sys.executable, "-m", "benchmarks.selectors", "--one", name, str(clients), str(rounds)]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, check=False, timeout=limit_s, env=one_thread
        )
    except subprocess.TimeoutExpired:
        return {"refused": f"given up after {limit_s:g} s"}
    if done.returncode:
        return {"refused": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=selectors.names())
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a row")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, clients, rounds = given.one
        print(json.dumps(measure(name, int(clients), int(rounds))))
        return
    empty = {"first_s": None, "median_s": None, "worst_s": None, "refused": ""}
    tables = known("selectors")
    for size in given.sizes:
        title = f"{CHOSEN} of {size:,} clients, seconds a round"
        rows = {row["selector"]: row for row in tables.get(title, ())}
        for name in given.only:
            seconds = apart(name, size, given.rounds, given.limit)
            rows[name] = {"selector": name} | empty | seconds
            print(size, rows[name], file=sys.stderr)
        tables[title] = [rows[name] for name in sorted(rows)]
    leave("selectors", tables, ["CPU time of one process of one thread."])


if __name__ == "__main__":
    main()
