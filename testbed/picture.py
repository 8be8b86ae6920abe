"""The comparison as a picture: updates and rounds, simulated against measured."""

from collections.abc import Sequence
from pathlib import Path

from testbed.markdown import Result, name_of


def picture(results: Sequence[Result], path: Path) -> None:
    """Draw simulated against measured: updates from order to arrival, and rounds given/calibrated.

    Args:
        results: of the scenarios.
        path: of the picture.
    """
    from matplotlib.figure import Figure

    from simfl.report.figures.savefig import save

    figure = Figure(figsize=(13, 6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    shown = [result for result in results if result["arrivals"]]
    colours = [f"C{n % 10}" for n in range(len(shown))]
    for n, (result, colour) in enumerate(zip(shown, colours, strict=True)):
        style = {"color": colour, "marker": "os^"[n // 10]}
        simulated, measured = zip(*result["arrivals"], strict=True)
        left.plot(measured, simulated, ls="", ms=4, alpha=0.6, label=name_of(result), **style)
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
    names = [name_of(result) for result in results]
    for kind, title, marker in (("plain", "rates alone", "x"), ("stated", "given", "o")):
        right.plot([100 * r[kind]["mean_round"] for r in results], names, marker, label=title)
    fitted = [r for r in results if "calibrated" in r]
    errors = [100 * r["calibrated"]["mean_round"] for r in fitted]
    right.plot(errors, [name_of(r) for r in fitted], "s", mfc="none", label="calibrated")
    right.axvline(5, color="0.6", lw=0.8, ls="--")
    right.set(xlabel="mean error of a round, %", title="Rounds", xscale="symlog")
    right.margins(x=0.1)
    right.invert_yaxis()
    right.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    figure.legend(*left.get_legend_handles_labels(), fontsize=7, loc="outside lower left", ncols=6)
    save(figure, path)
