"""Who misses a target, and how far real runs are from each other."""

import math
from collections.abc import Sequence

from testbed.markdown import Result, name_of, table

SIMULATIONS = {"plain": "Rates alone", "stated": "With protocols", "calibrated": "Calibrated"}
"""What is simulated of each scenario -> what tables call it."""


def verdict(results: Sequence[Result]) -> str:
    """Return both columns of round errors, and for every target who misses it."""
    rows = []
    for result in results:
        errors = [result[kind]["mean_round"] for kind in SIMULATIONS if kind in result]
        rows.append([name_of(result), *(f"{error:.1%}" for error in errors)])
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
    return table("Mean error of a round", columns, rows) + "\n\n" + "\n".join(_targets(results))


def _targets(results: Sequence[Result]) -> list[str]:
    """Return a line for every target, as `_target` does."""
    return [
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
        _target(
            "the same, what real runs do one way and another aside",
            [{**r, "repeated": {"settled": r["stated"]["orders"]} | _repeated(r)} for r in results],
            "repeated",
            "settled",
            0.95,
        ),
        _target("same outcomes in 95% of rounds", results, "stated", "outcomes", 0.95),
        _target("bytes down within 1%", results, "stated", "down", 0.01),
        _target("bytes up within 1%", results, "stated", "up", 0.01),
    ]


def _range(numbers: Sequence[float], unit: str) -> str:
    ends = dict.fromkeys(f"{end:.2g}" for end in (min(numbers), max(numbers))) if numbers else {}
    return f"{' to '.join(ends)} {unit}" if ends else ""


def _target(
    title: str, results: Sequence[Result], kind: str, key: str, limit: float, mean: float = 0.0
) -> str:
    """Return a line that says who misses a target; `mean`: also one for the mean (0: none)."""
    values = {name_of(r): r[kind][key] for r in results if kind in r and r[kind][key] is not None}
    values = {name: abs(value) for name, value in values.items() if not math.isnan(value)}
    high = key in ("orders", "outcomes", "settled")
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


def _among_real(results: Sequence[Result]) -> str:
    """Return how many simulations could be one of several real runs that differ."""
    all_runs = {name_of(r): _repeated(r) for r in results}
    runs = {name: again for name, again in all_runs.items() if again.get("mean_round", 0) > 0.05}
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


def several(results: Sequence[Result]) -> str:
    """Return how far real runs are from each other, and the simulation from them."""
    rows = []
    for result in results:
        if not (again := _repeated(result)):
            continue
        rows.append([name_of(result), str(again["runs"]), f"{again['mean_round']:.1%}"])
        rows[-1] += [f"{again['furthest']:.1%}", f"{again['simulated']['mean_round']:.1%}"]
        rows[-1].append(f"{again['within']:.0%}")
        for what in ("orders", "outcomes"):
            rows[-1] += [f"{again[what]:.0%}", f"{again['simulated'][what]:.0%}"]
        rows[-1].append(f"{again['settled']:.0%}")
    columns = ["real runs", "two of them apart", "at most", "simulated from one"]
    columns += ["rounds in their range", "orders of two", "of one and simulated"]
    columns += ["outcomes of two", "of one and simulated"]
    columns += ["rounds simulated as all real runs agree"]
    return table("Several real runs", columns, rows)


def beside_computing(results: Sequence[Result]) -> str:
    """Return how far off the rest of a round is, without the computing of whoever ended it.

    Clients wait until their computing takes what the scenario says; no clock could tell that wrong.
    """
    rows, errors = [], []
    for result in results:
        if not (waited_s := result.get("waited_s")):
            continue
        again = _repeated(result)
        rest = 1 - _computing_s(result, waited_s) / result["measured_s"]
        error = (again["simulated"] if again else result["stated"])["mean_round"] / rest
        apart = again["mean_round"] / rest if again else math.nan
        rows.append([name_of(result), f"{rest:.0%}", f"{error:.1%}"])
        rows[-1].append("" if math.isnan(apart) else f"{apart:.1%}")
        if not again or again["mean_round"] <= 0.05:
            errors.append(error)
    title = "What is left of a round without the computing, which is as given"
    columns = ["of the round", "simulated from one real run", "two real runs apart"]
    lines = [table(title, columns, rows)]
    if errors:
        mean = f"{sum(errors) / len(errors):.1%} in the mean of {len(errors)}"
        lines.append(f"- where two real runs are within 5% of a round: {mean}.")
    return "\n\n".join(lines)


def _computing_s(result: Result, waited_s: Sequence[float]) -> float:
    """Return how long they computed, seconds, whose updates ended the rounds."""
    last: dict[int, tuple[float, int]] = {}
    for client, _, number, outcome, arrived_s in result["updates"]:
        if outcome == "arrived":
            last[number] = max(last.get(number, (0.0, client)), (arrived_s, client))
    return sum(waited_s[client] for _, client in last.values())


def _repeated(result: Result) -> Result:
    """Return how far real runs are apart, as far as it is known."""
    again = result.get("repeated") or {}
    return again if "runs" in again else {}
