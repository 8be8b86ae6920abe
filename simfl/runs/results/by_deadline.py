"""Which rounds ended because it was time, so that nobody was waited for in the end."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simfl.core.types import Flags, Floats
from simfl.core.units import DURATION, parse_quantity
from simfl.runs.folder.policies import Policies
from simfl.runs.results.result import RunResult

PERIOD = "period"
"""Option of policies whose windows begin with their rounds: deadlines do as orders go out."""
INSTANT_S = 1e-9
"""Times that differ by less are the same."""


def ended_by_deadline(run: RunResult) -> Flags:
    """Return `(rounds,)` which ended when their deadline, or window, did."""
    if not np.isfinite(run.of_rounds("deadline_s")).any():
        return np.zeros(run.n_rounds, dtype=np.bool_)
    policies = Policies.of(run.folder, run.scenario, run.provenance)
    by_round = [policies.in_round(number) for number in run.of_rounds("round").tolist()]
    enforced = np.array([policy.get("enforce", True) is not False for policy in by_round])
    server_s = np.array([_server_s(policy) for policy in by_round])
    of_rounds = np.array([PERIOD in policy for policy in by_round])
    opened_s = np.where(of_rounds, run.of_rounds("start_s"), _sent_s(run))
    due_s = opened_s + run.of_rounds("deadline_s")  # NaN: there is none
    last_s, end_s = run.of_rounds("last_arrival_s"), run.of_rounds("end_s")
    # Where nothing counted something may have come all the same, and cost the server its time.
    closed = _same(end_s - server_s, due_s) | (_same(end_s, due_s) & ~np.isfinite(last_s))
    in_vain = (run.of_rounds("late") > 0) | ~(last_s > due_s - INSTANT_S)
    return np.asarray(enforced & closed & in_vain)


def _server_s(policy: Mapping[str, Any]) -> float:
    """Return how long the server takes for an aggregation, seconds."""
    return parse_quantity(policy.get("server_time", "0 s"), DURATION)


def _sent_s(run: RunResult) -> Floats:
    """Return `(rounds,)` when orders went out first, after a selector's questions."""
    sent_s = np.full(run.n_rounds, np.nan)
    place = run.of_clients("round").astype(np.int64) - 1
    closed = place < run.n_rounds
    np.fmin.at(sent_s, place[closed], run.of_clients("selected_s")[closed])
    return np.where(np.isfinite(sent_s), sent_s, run.of_rounds("start_s"))


def _same(instants_s: Floats, others_s: Floats) -> Flags:
    return np.isclose(instants_s, others_s, rtol=1e-14, atol=INSTANT_S)
