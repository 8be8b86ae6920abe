"""In which order updates arrive and what becomes of them: simulated, measured, measured twice."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from testbed.journals import Run

NOISE_S = 0.03
"""Arrivals no further apart than this, measured or simulated, are ties: what rounds scatter by on a
busy machine."""
PHASES = ("download", "compute", "upload")
UPDATE = ["client", "turn", "round", "outcome", "upload_end_s"]
"""What is kept of a participation: whose, how many that client had before, and what came of it."""


def participations(each: Run, rounds: Sequence[int]) -> pd.DataFrame:
    """Return the participations of `rounds` by client and how many it had before."""
    table = each.clients.sort_values("selected_s", kind="stable")
    first = each.rounds["round"].min()
    table = table.assign(round=table["round"] - first, turn=table.groupby("client").cumcount())
    ends = [table.selected_s, *(table[f"{phase}_end_s"] for phase in PHASES)]
    for phase, begun, ended in zip(PHASES, ends, ends[1:], strict=False):
        table[f"{phase}_s"] = ended - begun
    return table[table["round"].isin(list(rounds))].set_index(["client", "turn"])


def orders(a: pd.DataFrame, b: pd.DataFrame, rounds: Sequence[int]) -> float:
    """Return the share of `rounds` whose updates arrive in the same order, ties aside."""
    return float(np.mean([_same_order(a, b, number) for number in rounds]))


def _same_order(a: pd.DataFrame, b: pd.DataFrame, number: int) -> bool:
    mine, theirs = _arrivals(a, number), _arrivals(b, number)
    if set(mine) != set(theirs):
        return False
    pairs = [(i, j) for i in mine for j in mine if mine[j] - mine[i] > NOISE_S]
    return all(theirs[i] - theirs[j] <= NOISE_S for i, j in pairs)


def _arrivals(table: pd.DataFrame, number: int) -> dict[tuple[int, int], float]:
    counted = table[(table["round"] == number) & (table.outcome == "arrived")]
    return dict(zip(counted.index, counted.upload_end_s, strict=True))


def outcomes(a: pd.DataFrame, b: pd.DataFrame, rounds: Sequence[int]) -> float:
    """Return the share of `rounds` in which the same clients arrived, were late, or gone."""
    same = [_outcomes(a, number) == _outcomes(b, number) for number in rounds]
    return float(np.mean(same))


def _outcomes(table: pd.DataFrame, number: int) -> dict[tuple[int, int], str]:
    outcome = table[table["round"] == number].outcome
    return dict(zip(outcome.index.tolist(), outcome.tolist(), strict=True))


def first_swap(real: Run, simulated: Run) -> dict[str, float]:
    """Return where updates first arrive in another order than simulated; nothing if nowhere.

    Returns:
        after how many arrivals, and how many seconds apart the two were measured and simulated;
        those that are simulated to arrive at the same instant may come as they like.
    """
    every = range(len(real.rounds))
    mine, theirs = (
        table[table.outcome == "arrived"].upload_end_s.sort_values(kind="stable")
        for table in (participations(each, every) for each in (simulated, real))
    )
    for place, (first, other) in enumerate(zip(mine.index, theirs.index, strict=False)):
        if first not in theirs or other not in mine:
            continue
        measured_s, simulated_s = theirs[first] - theirs[other], mine[other] - mine[first]
        if min(measured_s, simulated_s) > 0:
            return {"after": place, "measured_s": measured_s, "simulated_s": simulated_s}
    return {}


def updates(real: Run) -> list[list[Any]]:
    """Return what is kept of every participation, as JSON can hold it: columns of `UPDATE`."""
    kept = participations(real, range(len(real.rounds))).reset_index()[UPDATE]
    rows: list[list[Any]] = kept.astype(object).where(kept.notna(), None).to_numpy().tolist()
    return rows


def repeated(
    result: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]
) -> dict[str, float] | None:
    """Return how far two real runs are from each other: no simulation can be closer to both.

    Args:
        result: of a scenario.
        earlier: results of another time; one with other shares of a core is another scenario.

    Returns:
        `mean_round`: mean absolute difference of the rounds, in mean rounds; `orders` and
        `outcomes` as in `Errors`.
    """
    for other in earlier:
        if other["name"] == result["name"] and not other.get("shares"):
            now_s, before_s = (
                np.diff([0.0, *run["ends_s"]["measured"]]) for run in (result, other)
            )
            apart = {"mean_round": float(np.abs(now_s - before_s).mean() / now_s.mean())}
            if "updates" in other:
                a, b = (
                    pd.DataFrame(run["updates"], columns=UPDATE).set_index(["client", "turn"])
                    for run in (result, other)
                )
                every = range(len(now_s))
                apart |= {"orders": orders(a, b, every), "outcomes": outcomes(a, b, every)}
            return apart
    return None
