"""What the comparison found, as Markdown and as a picture.

python -m testbed.tables RESULTS.json PICTURE [DOCUMENT]: prints the tables, or puts them into the
document between the lines `<!-- tables -->` and `<!-- end of tables -->`.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from testbed.markdown import Result, name_of, signed, table
from testbed.picture import picture
from testbed.verdict import SIMULATIONS, beside_computing, several, verdict

COLUMNS = (
    "rounds", "measured", "total", "mean round", "worst round", "download", "compute", "upload",
    "order", "outcomes", "staleness", "bytes down", "bytes up",
)  # fmt: skip
TARGET = 0.7
"""The accuracy whose time is told."""
WAITS = {
    "order": "until the node asks",
    "model": "model",
    "launch": "until the app begins",
    "training": "training",
    "notice": "until the node notices",
    "update": "update",
    "look": "until the server looks",
    "looking": "all looks of a round",
}
"""What participations and rounds of Flower are made of -> what the table calls it."""
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->"


def tables(results: Sequence[Result]) -> str:
    """Return all tables: the verdict, the simulations, bytes, Flower's waits, accuracy."""
    parts = [verdict(results)]
    for kind, title in SIMULATIONS.items():
        rows = [_row(result, result[kind]) for result in results if kind in result]
        parts.append(table(title, COLUMNS, rows))
    parts += [
        several(results),
        beside_computing(results),
        _swaps(results),
        _served(results),
        _quotas(results),
        _composition(results),
        _waits(results),
    ]
    parts.append(_learning(results))
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(result: Result, wrong: dict[str, Any]) -> list[str]:
    shares = [wrong[key] for key in ("orders", "outcomes", "staleness")]
    phases = [wrong["phases"].get(phase) for phase in ("download", "compute", "upload")]
    return [
        name_of(result),
        str(result["rounds"]),
        f"{result['measured_s']:.1f} s",
        signed(wrong["total"]),
        f"{wrong['mean_round']:.1%}",
        f"{wrong['max_round']:.1%}",
        *(signed(error) for error in phases),
        *(f"{share:.0%}" for share in shares),
        signed(wrong["down"]),
        signed(wrong["up"]),
    ]


def _composition(results: Sequence[Result]) -> str:
    parts = ("headers", "frames", "answers", "again")
    rows = [
        [name_of(r)]
        + [f"{r['composition'][way][part]:.2%}" for way in ("down", "up") for part in parts]
        for r in results
        if r.get("composition")
    ]
    names = ("headers", "frames, broken off", "answers", "sent once more")
    columns = [f"{way}: {name}" for way in ("down", "up") for name in names]
    return table("Bytes at the server's interface beyond those booked", columns, rows)


def _swaps(results: Sequence[Result]) -> str:
    rows = [
        [name_of(r), f"{r['stated']['orders']:.0%}", str(swap["after"])]
        + [f"{1000 * swap[f'{way}_s']:.0f} ms" for way in ("simulated", "measured")]
        for r in results
        if (swap := r.get("swap")) and r["stated"]["orders"] < 1
    ]
    columns = ("order", "arrivals before", "simulated apart", "measured apart, the other way")
    return table("Where the order of arrivals first differs", columns, rows)


def _served(results: Sequence[Result]) -> str:
    """Return how long the first client's phases take that share the server's links, and others'."""
    rows = [
        [name_of(r)]
        + [
            f"{1000 * seconds:.0f} ms"
            for phase in ("download", "upload")
            for way in ("measured", "simulated")
            for seconds in r["served"][way][phase]
        ]
        for r in results
        if r.get("served")
    ]
    columns = [
        f"{phase}, {way}: {who}"
        for phase in ("download", "upload")
        for way in ("measured", "simulated")
        for who in ("the first", "others")
    ]
    return table("Who is served first by links that are shared", columns, rows)


def _quotas(results: Sequence[Result]) -> str:
    """Return where the seconds of trainings went that had a share of a core."""
    rows = []
    for result in results:
        if not result.get("computing"):
            continue
        found = pd.DataFrame(result["computing"])
        found["share"] = [result["shares"][int(client)] for client in found.client]
        parts = [(f"client {client:g}", part) for client, part in found.groupby("client")]
        for who, part in [*parts, ("all", found)]:
            rows.append([f"{name_of(result)}, {who}", *_trainings(part)])
    columns = ["seconds given", "measured", "throttled", "no core free", "taken by the host"]
    columns += ["CPU given", "CPU needed", "its scatter", "correlation with a loop's CPU"]
    columns += ["error as given", "error with the CPU needed"]
    return table("Where the seconds of CPU quotas went", columns, rows)


def _trainings(found: pd.DataFrame) -> list[str]:
    """Return means of trainings that had a `share`, and how far they are from what was given."""
    given_cpu_s = found.share * found.given_s
    taken_s = found.compute_s - found.cpu_s - found.throttled_s - found.waited_s
    seconds = [found.given_s, found.compute_s, found.throttled_s, found.waited_s, taken_s]
    needed = found.cpu_s / given_cpu_s
    expected = [found.given_s, found.cpu_s / found.share]
    return [
        *(f"{each.mean():.2f} s" for each in seconds),
        *(f"{1000 * each.mean():.0f} ms" for each in (given_cpu_s, found.cpu_s)),
        f"{needed.std() / needed.mean():.1%}",
        f"{needed.corr(found.loop_s):+.2f}",
        *(f"{(each / found.compute_s - 1).abs().mean():.1%}" for each in expected),
    ]


def _waits(results: Sequence[Result]) -> str:
    """Return what participations and rounds of Flower are made of, measured and as given."""
    rows = [
        [f"{name_of(r)}, {way}"]
        + [f"{r[kind][wait]:.2f} s" if wait in r[kind] else "" for wait in WAITS]
        for r in results
        for way, kind in (("measured", "waits"), ("given", "given_waits"))
        if r.get(kind)
    ]
    return table("What Flower waits for", WAITS.values(), rows)


def _learning(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        if result["accuracy"]["measured"]:
            rows.append([name_of(result)])
            for way in ("measured", "simulated"):
                accuracy, ends_s = result["accuracy"][way], result["ends_s"][way]
                hits = [end for end, a in zip(ends_s, accuracy, strict=True) if a >= TARGET]
                rows[-1] += [f"{hits[0]:.1f} s" if hits else "never", f"{accuracy[-1]:.1%}"]
    ways = [(f"{way}: to {TARGET:.0%}", "at the end") for way in ("measured", "simulated")]
    return table("Accuracy", [column for pair in ways for column in pair], rows)


def fill(document: Path, text: str) -> None:
    """Put `text` between the marks of a document."""
    before, rest = document.read_text().split(BEGIN)
    _, after = rest.split(END)
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text())["results"]
    picture(told, Path(sys.argv[2]))
    if len(sys.argv) > 3:
        fill(Path(sys.argv[3]), tables(told))
    else:
        print(tables(told))
