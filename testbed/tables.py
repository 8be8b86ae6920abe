"""What the comparison found, as Markdown and as a picture."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEAD = (
    "scenario | rounds | measured | total | mean round | worst round | download | compute | upload"
    " | order | outcomes | staleness | bytes down | bytes up"
)
TARGET = 0.7
"""The accuracy whose time is told."""
SIMULATIONS = {"plain": "Rates alone", "stated": "With protocols", "calibrated": "Calibrated"}


def tables(results: Sequence[dict[str, Any]]) -> str:
    """Return a table for each kind of simulation, a row a scenario."""
    parts = []
    for kind, title in SIMULATIONS.items():
        rows = [_row(result, result[kind]) for result in results if kind in result]
        if rows:
            rule = "|".join(["---"] * (HEAD.count("|") + 1))
            parts.append(f"{title}\n\n| {HEAD} |\n|{rule}|\n" + "\n".join(rows))
    return "\n\n".join([*parts, *_learning(results)]) + "\n"


def _learning(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table of accuracies, where models were kept."""
    rows = []
    for result in results:
        if result["accuracy"]["measured"]:
            cells = [_name(result)]
            for way in ("measured", "simulated"):
                accuracy, ends_s = result["accuracy"][way], result["ends_s"][way]
                hits = [end for end, a in zip(ends_s, accuracy, strict=True) if a >= TARGET]
                cells += [f"{hits[0]:.1f} s" if hits else "never", f"{accuracy[-1]:.1%}"]
            rows.append(f"| {' | '.join(cells)} |")
    ways = [f"{way}: to {TARGET:.0%} | at the end" for way in ("measured", "simulated")]
    head = f"scenario | {' | '.join(ways)}"
    return [f"Accuracy\n\n| {head} |\n|---|---|---|---|---|\n" + "\n".join(rows)] if rows else []


def _name(result: dict[str, Any]) -> str:
    return str(result["name"]).removeprefix("testbed-").replace("-", " ")


def _row(result: dict[str, Any], wrong: dict[str, Any]) -> str:
    shares = [wrong[key] for key in ("orders", "outcomes", "staleness")]
    cells = [
        _name(result),
        str(result["rounds"]),
        f"{result['measured_s']:.1f} s",
        _signed(wrong["total"]),
        f"{wrong['mean_round']:.1%}",
        f"{wrong['max_round']:.1%}",
        *(_signed(wrong["phases"][phase]) for phase in ("download", "compute", "upload")),
        *(f"{share:.0%}" for share in shares),
        _signed(wrong["down"]),
        _signed(wrong["up"]),
    ]
    return f"| {' | '.join(cells)} |"


def _signed(share: float) -> str:
    return "" if math.isnan(share) else f"{share:+.1%}"


def picture(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw simulated against measured time of every update from its order to its arrival."""
    from matplotlib.figure import Figure

    from simfl.report.savefig import save

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for result in results:
        pairs = result["arrivals"]
        simulated, measured = zip(*pairs, strict=True)
        left.plot(measured, simulated, "o", ms=4, alpha=0.6, label=_name(result))
        wrong = sorted(100 * (s / m - 1) for s, m in pairs)
        right.step(wrong, [(i + 1) / len(wrong) for i in range(len(wrong))])
    ends = left.get_xlim()
    left.plot(ends, ends, "k-", lw=0.8, zorder=0)
    left.set(xlabel="measured, s", ylabel="simulated, s", title="From order to arrival")
    left.legend(fontsize=7)
    right.axvline(0, color="k", lw=0.8, zorder=0)
    right.set(xlabel="error, %", ylabel="share of updates", title="Error, cumulative", xlim=(-6, 6))
    save(figure, path)


if __name__ == "__main__":  # python -m testbed.tables RESULTS.json PICTURE
    told = json.loads(Path(sys.argv[1]).read_text())["results"]
    print(tables(told))
    picture(told, Path(sys.argv[2]))
