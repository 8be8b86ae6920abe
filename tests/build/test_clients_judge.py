"""Models judged by what each client keeps aside, clients alike."""

import math
from typing import Any

import numpy as np
import pytest

from simfl.build.clients_judge import mean_of, samples_worth
from simfl.core.evaluation import Evaluation
from simfl.errors import InputError
from simfl.report.comparison.forms import render
from simfl.runs.evaluation.evaluate import evaluate
from simfl.runs.results.compare import compare
from tests.tiny import RunTiny

SKEWED: dict[str, Any] = {
    "data.partition": {"name": "dirichlet", "alpha": 0.3},
    "data.local_validation": "20%",
    "evaluation.on": "clients",
}


def test_a_run_is_judged_as_simfl_evaluate_judges_it(run_tiny: RunTiny) -> None:
    result = run_tiny({**SKEWED, "evaluation.metrics": ["macro_f1"], "evaluation.initial": True})
    [everybody, *_] = (found := evaluate(result)).spreads
    last = result.rounds.iloc[-1]
    assert last["accuracy"] == pytest.approx(everybody.mean)
    assert last["accuracy"] != pytest.approx(everybody.pooled)
    for name in ("loss", "macro_f1"):
        assert last[name] == pytest.approx(found.clients[name].mean())
    assert math.isfinite(result.rounds.iloc[0]["accuracy"])
    assert "| clients' accuracy |" in render(compare([result]), "markdown")
    assert result.provenance["judged_on"] == samples_worth(found.clients["samples"].to_numpy())


def test_a_mean_over_clients_is_as_certain_as_that_of_so_many_samples() -> None:
    """Its provenance told the size of the test set, on which nobody was judged."""
    assert samples_worth(np.array([5, 0, 5, 5])) == 15
    assert samples_worth(np.array([1, 100])) == round(4 / 1.01)
    assert samples_worth(np.zeros(3, dtype=np.int64)) == 0


def test_nobody_keeps_a_sample_aside(run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match=r"data\.local_validation: nobody keeps any sample aside"):
        run_tiny({**SKEWED, "data.dataset.samples": 8, "data.partition": "iid"})


def test_means_are_of_what_is_a_number() -> None:
    told = [
        Evaluation(0.2, 1.0, {"auc": None, "f1": 0.5}),
        Evaluation(0.5, 3.0, {"auc": 0.4, "f1": 0.7}),
    ]
    assert mean_of(told) == Evaluation(0.35, 2.0, {"auc": 0.4, "f1": 0.6})
    lost = mean_of([*told, Evaluation(None, math.nan, {"auc": None, "f1": None})])
    assert math.isnan(lost.loss)
    assert lost.metrics == {"auc": None, "f1": None}
    assert mean_of([Evaluation(None, 1.0)]).accuracy is None
