"""In which order updates arrive and what becomes of them: simulated, measured, measured twice."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from simfl.core.types import Floats
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


def served(real: Run, simulated: Run) -> dict[str, dict[str, list[float]]]:
    """Return how long moving bytes takes the client with the lowest id, and all others.

    The server sends orders in that order.  Of a client's first participation, where nobody has
    anything under way but what others begin with it.

    Returns:
        `measured` and `simulated`: by phase, the seconds of the first and the others' mean.
    """
    found = {}
    for way, run in (("measured", real), ("simulated", simulated)):
        table = participations(run, range(len(run.rounds)))
        begun = table.xs(0, level="turn").sort_index()
        found[way] = {
            phase: [float(begun[f"{phase}_s"].iloc[0]), float(begun[f"{phase}_s"].iloc[1:].mean())]
            for phase in ("download", "upload")
        }
    return found


def updates(real: Run) -> list[list[Any]]:
    """Return what is kept of every participation, as JSON can hold it: columns of `UPDATE`."""
    kept = participations(real, range(len(real.rounds))).reset_index()[UPDATE]
    rows: list[list[Any]] = kept.astype(object).where(kept.notna(), None).to_numpy().tolist()
    return rows


def kept(real: Run) -> dict[str, Any]:
    """Return what is kept of a run to hold others against it, as JSON can hold it."""
    return {"ends_s": real.rounds.end_s.tolist(), "updates": updates(real)}


def repeated(
    runs: Sequence[Mapping[str, Any]], simulated: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return how far real runs of a scenario are from each other, and the simulation from them.

    Args:
        runs: as `kept`; those that have not as many rounds as the first are left out.
        simulated: likewise.

    Returns:
        `runs`: how many; `mean_round`: mean absolute difference of two runs' rounds, in mean
        rounds, `orders` and `outcomes` as in `Errors`, each the mean of all pairs; `furthest`: the
        largest `mean_round` of a pair; `simulated`: means of the same of the simulation and each
        run; `within`: share of rounds whose simulated length is in the range of the real ones;
        `settled`: share of rounds simulated as all real runs have them, where these agree (see
        `settled`).
    """
    runs = [run for run in runs if len(run["ends_s"]) == len(runs[0]["ends_s"])]
    if len(runs) < 2:
        return None
    pairs = pd.DataFrame([_apart(*pair) for pair in combinations(runs, 2)])
    lasts_s = np.array([_lasts_s(run) for run in runs])
    least_s, most_s = lasts_s.min(0) - NOISE_S, lasts_s.max(0) + NOISE_S
    within = (least_s <= _lasts_s(simulated)) & (_lasts_s(simulated) <= most_s)
    return {
        "runs": len(runs),
        **{str(name): float(pairs[name].mean()) for name in pairs},
        "furthest": float(pairs.mean_round.max()),
        "simulated": pd.DataFrame([_apart(simulated, run) for run in runs]).mean().to_dict(),
        "within": float(within.mean()),
        "settled": settled([_table(run) for run in runs], _table(simulated), len(lasts_s[0])),
    }


def settled(reals: Sequence[pd.DataFrame], simulated: pd.DataFrame, rounds: int) -> float:
    """Return the share of rounds in which the simulation contradicts nothing that real runs settle.

    What they order both ways is a tie within the measurement's noise.  Settled are two updates that
    every run has in one order, an update that every run has in a round, and one that none has.
    """
    return float(np.mean([_settled(reals, simulated, number) for number in range(rounds)]))


def _settled(reals: Sequence[pd.DataFrame], simulated: pd.DataFrame, number: int) -> bool:
    mine, runs = _arrivals(simulated, number), [_arrivals(real, number) for real in reals]
    everywhere, anywhere = set.intersection(*map(set, runs)), set.union(*map(set, runs))
    if not everywhere <= set(mine) <= anywhere:
        return False
    later = [(i, j) for i in everywhere for j in everywhere if mine[i] - mine[j] > NOISE_S]
    return not any(all(run[j] - run[i] > NOISE_S for run in runs) for i, j in later)


def _lasts_s(run: Mapping[str, Any]) -> Floats:
    return np.diff([0.0, *run["ends_s"]])


def _table(run: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(run["updates"], columns=UPDATE).set_index(["client", "turn"])


def _apart(run: Mapping[str, Any], real: Mapping[str, Any]) -> dict[str, float]:
    lasts_s, a, b = _lasts_s(real), _table(run), _table(real)
    every = range(len(lasts_s))
    return {
        "mean_round": float(np.abs(_lasts_s(run) - lasts_s).mean() / lasts_s.mean()),
        "orders": orders(a, b, every),
        "outcomes": outcomes(a, b, every),
    }
