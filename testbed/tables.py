"""What the comparison found, as Markdown and as a picture.

python -m testbed.tables RESULTS.json PICTURE [DOCUMENT]: prints the tables, or puts them into the
document between the lines `<!-- tables -->` and `<!-- end of tables -->`.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

Result = dict[str, Any]

COLUMNS = (
    "rounds", "measured", "total", "mean round", "worst round", "download", "compute", "upload",
    "order", "outcomes", "staleness", "bytes down", "bytes up",
)  # fmt: skip
TARGET = 0.7
"""The accuracy whose time is told."""
SIMULATIONS = {"plain": "Rates alone", "stated": "With protocols", "calibrated": "Calibrated"}
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
    parts = [_verdict(results)]
    for kind, title in SIMULATIONS.items():
        rows = [_row(result, result[kind]) for result in results if kind in result]
        parts.append(_table(title, COLUMNS, rows))
    parts += [
        _several(results),
        _swaps(results),
        _quotas(results),
        _composition(results),
        _waits(results),
    ]
    parts.append(_learning(results))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(title: str, columns: Iterable[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = ["scenario", *columns]
    lines = [head, ["---"] * len(head), *rows]
    return f"**{title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdict(results: Sequence[Result]) -> str:
    """Return both columns of round errors, and for every target who misses it."""
    rows = []
    for result in results:
        errors = [result[kind]["mean_round"] for kind in SIMULATIONS if kind in result]
        rows.append([_name(result), *(f"{error:.1%}" for error in errors)])
        rows[-1] += ["can't be"] * (4 - len(rows[-1]))
        again = _repeated(result)
        rows[-1].append(f"{again['mean_round']:.1%}" if again else "")
        moved = result["shaken"]
        rows[-1] += [f"{moved['mean_round']:.1%}", f"{moved['orders']:.0%}"]
        rows[-1].append(_range([1000 * each for each in result.get("latency_s", ())], "ms"))
        rows[-1].append(" to ".join(f"{load:.0f}" for load in result.get("load", ())))
    columns = ["rates alone", "given, nothing fitted", "calibrated on other rounds"]
    columns += [
        "two real runs",
        "two simulations, devices 0.5% apart",
        "their orders",
        "latency measured",
        "load average",
    ]
    lines = [
        _target("given: rounds within 5%", results, "stated", "mean_round", 0.05, 0.02),
        _target(
            "the same, but for those where two real runs are further apart than 5%",
            [r for r in results if _repeated(r).get("mean_round", 0.0) <= 0.05],
            "stated",
            "mean_round",
            0.05,
            0.02,
        ),
        _among_real(results),
        _target("calibrated: rounds within 2%", results, "calibrated", "mean_round", 0.02, 0.01),
        _target("order of arrivals in 95% of rounds", results, "stated", "orders", 0.95),
        _target(
            "the same, but for those where two real runs differ more often",
            [r for r in results if _repeated(r).get("orders", 1.0) >= 0.95],
            "stated",
            "orders",
            0.95,
        ),
        _target("same outcomes in 95% of rounds", results, "stated", "outcomes", 0.95),
        _target("bytes down within 1%", results, "stated", "down", 0.01),
        _target("bytes up within 1%", results, "stated", "up", 0.01),
    ]
    return _table("Mean error of a round", columns, rows) + "\n\n" + "\n".join(lines)


def _range(numbers: Sequence[float], unit: str) -> str:
    ends = dict.fromkeys(f"{end:.2g}" for end in (min(numbers), max(numbers))) if numbers else {}
    return f"{' to '.join(ends)} {unit}" if ends else ""


def _among_real(results: Sequence[Result]) -> str:
    """Return how many simulations could be one of several real runs that differ."""
    runs = {_name(r): again for r in results if (again := _repeated(r)).get("mean_round", 0) > 0.05}
    far = [
        f"{name} ({again['simulated']['mean_round']:.1%})"
        for name, again in runs.items()
        if again["simulated"]["mean_round"] > again["furthest"]
    ]
    line = (
        "- where they are: simulated no further from the real runs than one of these from another: "
    )
    return (
        line + f"{len(runs) - len(far)} of {len(runs)}{'; not ' + ', '.join(far) if far else ''}."
    )


def _several(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        if not (again := _repeated(result)):
            continue
        rows.append([_name(result), str(again["runs"]), f"{again['mean_round']:.1%}"])
        rows[-1] += [f"{again['furthest']:.1%}", f"{again['simulated']['mean_round']:.1%}"]
        rows[-1].append(f"{again['within']:.0%}")
        for what in ("orders", "outcomes"):
            rows[-1] += [f"{again[what]:.0%}", f"{again['simulated'][what]:.0%}"]
    columns = ["real runs", "two of them apart", "at most", "simulated from one"]
    columns += ["rounds in their range", "orders of two", "of one and simulated"]
    columns += ["outcomes of two", "of one and simulated"]
    return _table("Several real runs", columns, rows)


def _repeated(result: Result) -> Result:
    """Return how far real runs are apart, as far as it is known."""
    again = result.get("repeated") or {}
    return again if "runs" in again else {}


def _target(
    title: str, results: Sequence[Result], kind: str, key: str, limit: float, mean: float = 0.0
) -> str:
    """Return a line that says who misses a target; `mean`: also one for the mean (0: none)."""
    values = {_name(r): r[kind][key] for r in results if kind in r and r[kind][key] is not None}
    values = {name: abs(value) for name, value in values.items() if not math.isnan(value)}
    high = key in ("orders", "outcomes")
    missed = [
        f"{name} ({value:.1%})"
        for name, value in values.items()
        if (value < limit if high else value > limit)
    ]
    reached = len(values) - len(missed)
    line = f"- {title}: {reached} of {len(values)}"
    line += f"; not {', '.join(missed)}" if missed else ""
    if mean and values:
        average = sum(values.values()) / len(values)
        line += f". In the mean {average:.1%}, {'within' if average <= mean else 'not within'} "
        line += f"{mean:.0%}"
    return line + "."


def _row(result: Result, wrong: dict[str, Any]) -> list[str]:
    shares = [wrong[key] for key in ("orders", "outcomes", "staleness")]
    phases = [wrong["phases"].get(phase) for phase in ("download", "compute", "upload")]
    return [
        _name(result),
        str(result["rounds"]),
        f"{result['measured_s']:.1f} s",
        _signed(wrong["total"]),
        f"{wrong['mean_round']:.1%}",
        f"{wrong['max_round']:.1%}",
        *(_signed(error) for error in phases),
        *(f"{share:.0%}" for share in shares),
        _signed(wrong["down"]),
        _signed(wrong["up"]),
    ]


def _composition(results: Sequence[Result]) -> str:
    parts = ("headers", "frames", "answers", "again")
    rows = [
        [_name(r)]
        + [f"{r['composition'][way][part]:.2%}" for way in ("down", "up") for part in parts]
        for r in results
        if r.get("composition")
    ]
    names = ("headers", "frames, broken off", "answers", "sent once more")
    columns = [f"{way}: {name}" for way in ("down", "up") for name in names]
    return _table("Bytes at the server's interface beyond those booked", columns, rows)


def _swaps(results: Sequence[Result]) -> str:
    rows = [
        [_name(r), f"{r['stated']['orders']:.0%}", str(swap["after"])]
        + [f"{1000 * swap[f'{way}_s']:.0f} ms" for way in ("simulated", "measured")]
        for r in results
        if (swap := r.get("swap")) and r["stated"]["orders"] < 1
    ]
    columns = ("order", "arrivals before", "simulated apart", "measured apart, the other way")
    return _table("Where the order of arrivals first differs", columns, rows)


def _quotas(results: Sequence[Result]) -> str:
    """Return where the seconds of trainings went that had a share of a core."""
    rows = []
    for result in results:
        if not result.get("computing"):
            continue
        table = pd.DataFrame(result["computing"])
        table["share"] = [result["shares"][int(client)] for client in table.client]
        parts = [(f"client {client:g}", part) for client, part in table.groupby("client")]
        rows += [
            [f"{_name(result)}, {who}", *_trainings(part)] for who, part in [*parts, ("all", table)]
        ]
    columns = ["seconds given", "measured", "throttled", "no core free", "taken by the host"]
    columns += ["CPU given", "CPU needed", "its scatter", "correlation with a loop's CPU"]
    columns += ["error as given", "error with the CPU needed"]
    return _table("Where the seconds of CPU quotas went", columns, rows)


def _trainings(table: pd.DataFrame) -> list[str]:
    """Return means of trainings that had a `share`, and how far they are from what was given."""
    given_cpu_s = table.share * table.given_s
    taken_s = table.compute_s - table.cpu_s - table.throttled_s - table.waited_s
    seconds = [table.given_s, table.compute_s, table.throttled_s, table.waited_s, taken_s]
    needed = table.cpu_s / given_cpu_s
    expected = [table.given_s, table.cpu_s / table.share]
    return [
        *(f"{each.mean():.2f} s" for each in seconds),
        *(f"{1000 * each.mean():.0f} ms" for each in (given_cpu_s, table.cpu_s)),
        f"{needed.std() / needed.mean():.1%}",
        f"{needed.corr(table.loop_s):+.2f}",
        *(f"{(each / table.compute_s - 1).abs().mean():.1%}" for each in expected),
    ]


def _waits(results: Sequence[Result]) -> str:
    """Return what participations and rounds of Flower are made of, measured and as given."""
    rows = [
        [f"{_name(r)}, {way}"]
        + [f"{r[kind][wait]:.2f} s" if wait in r[kind] else "" for wait in WAITS]
        for r in results
        for way, kind in (("measured", "waits"), ("given", "given_waits"))
        if r.get(kind)
    ]
    return _table("What Flower waits for", WAITS.values(), rows)


def _learning(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        if result["accuracy"]["measured"]:
            rows.append([_name(result)])
            for way in ("measured", "simulated"):
                accuracy, ends_s = result["accuracy"][way], result["ends_s"][way]
                hits = [end for end, a in zip(ends_s, accuracy, strict=True) if a >= TARGET]
                rows[-1] += [f"{hits[0]:.1f} s" if hits else "never", f"{accuracy[-1]:.1%}"]
    ways = [(f"{way}: to {TARGET:.0%}", "at the end") for way in ("measured", "simulated")]
    return _table("Accuracy", [column for pair in ways for column in pair], rows)


def _name(result: Result) -> str:
    return str(result["name"]).removeprefix("testbed-").replace("-", " ")


def _signed(share: float | None) -> str:
    return "" if share is None or math.isnan(share) else f"{share:+.1%}"


def picture(results: Sequence[Result], path: Path) -> None:
    """Draw simulated against measured: updates from order to arrival, and rounds given/calibrated.

    Args:
        results: of the scenarios.
        path: of the picture.
    """
    from matplotlib.figure import Figure

    from simfl.report.savefig import save

    figure = Figure(figsize=(13, 6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    shown = [result for result in results if result["arrivals"]]
    colours = [f"C{n % 10}" for n in range(len(shown))]
    for n, (result, colour) in enumerate(zip(shown, colours, strict=True)):
        style = {"color": colour, "marker": "os^"[n // 10]}
        simulated, measured = zip(*result["arrivals"], strict=True)
        left.plot(measured, simulated, ls="", ms=4, alpha=0.6, label=_name(result), **style)
        wrong = sorted(100 * (s / m - 1) for s, m in result["arrivals"])
        shares = [(i + 1) / len(wrong) for i in range(len(wrong))]
        middle.step(wrong, shares, color=colour, ls=["-", "--", ":"][n // 10])
    ends = [f(pair[1] for r in shown for pair in r["arrivals"]) for f in (min, max)]
    left.plot(ends, ends, "k-", lw=0.8, zorder=0)
    left.set(xlabel="measured, s", ylabel="simulated, s", title="From order to arrival")
    left.set(xscale="log", yscale="log")
    middle.axvline(0, color="k", lw=0.8, zorder=0)
    middle.set(xlabel="error, %", ylabel="share of updates", title="Error, cumulative")
    middle.set_xlim(-10, 10)
    names = [_name(result) for result in results]
    for kind, title, marker in (("plain", "rates alone", "x"), ("stated", "given", "o")):
        right.plot([100 * r[kind]["mean_round"] for r in results], names, marker, label=title)
    fitted = [r for r in results if "calibrated" in r]
    errors = [100 * r["calibrated"]["mean_round"] for r in fitted]
    right.plot(errors, [_name(r) for r in fitted], "s", mfc="none", label="calibrated")
    right.axvline(5, color="0.6", lw=0.8, ls="--")
    right.set(xlabel="mean error of a round, %", title="Rounds", xscale="symlog")
    right.margins(x=0.1)
    right.invert_yaxis()
    right.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    figure.legend(*left.get_legend_handles_labels(), fontsize=7, loc="outside lower left", ncols=6)
    save(figure, path)


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
