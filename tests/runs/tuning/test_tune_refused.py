"""What can't be tuned, and how that is told."""

import sys
from pathlib import Path
from typing import Any

import pytest

from simfl.errors import InputError
from simfl.runs.options import Options
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document
from tests.runs.tuning.tuned import CLOCK, LEARNS, TO_TARGET, document, timed


def test_what_no_trial_can_be_run_with_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rounds\.clents"):
        timed(tmp_path, {**CLOCK, "parameters": {"rounds.clents": [1, 2]}})


def test_variants_sweeps_and_targets_without_training(tmp_path: Path) -> None:
    """From Python each was told in options of the command line."""
    with pytest.raises(InputError, match="one variant is tuned; name it with variant, one of"):
        timed(tmp_path, variants={"a": {}, "b": {}})
    with pytest.raises(InputError, match=r"swept or tuned.*document\.set\('sweep=null'\)"):
        timed(tmp_path, sweep={"rounds.clients": [2, 3]})
    with pytest.raises(InputError, match="needs training, which time_only leaves out"):
        timed(tmp_path, TO_TARGET)
    with pytest.raises(InputError, match=r"no `tune` section$"):
        tune(Document.of(LEARNS), tmp_path)


def test_energy_of_devices_that_spend_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tune\.objective: no group of .* `power`"):
        timed(tmp_path, {**CLOCK, "objective": "energy"})
    with pytest.raises(InputError, match=r"tune\.under: no group of .* `power`"):
        timed(tmp_path, {**CLOCK, "under": {"energy": "1 kJ"}})


def test_epsilon_where_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tune\.under: no epsilon can be given: aggregator"):
        timed(tmp_path, {**CLOCK, "under": {"epsilon": 3}})


def test_energy_is_known_by_variant_and_choice(tmp_path: Path) -> None:
    """Where a variant has power, a limit of energy on another was an internal error."""
    power: dict[str, Any] = {"fleet.power": {"compute": "1 W"}}
    spec = {**CLOCK, "under": {"energy": "1 MJ"}, "trials": 2}
    tuned = document(spec, variants={"bare": {}, "known": power}, seeds=[0])
    options = Options(time_only=True, jobs=1)
    with pytest.raises(InputError, match=r"tune\.under: no group of .* `power`"):
        tune(tuned, tmp_path / "bare", options, variant="bare")
    assert not (tmp_path / "bare").exists()
    tuning = tune(tuned, tmp_path / "known", options, variant="known")
    assert all(trial.state == "done" for trial in tuning.trials)
    chosen = {**spec, "parameters": {"fleet.power": [*power.values(), None]}}
    tuning = tune(document(chosen, seeds=[0]), tmp_path / "chosen", options)
    assert sorted(trial.state for trial in tuning.trials) == ["done", "refused"]


def test_an_accuracy_that_the_loss_has_not(tmp_path: Path) -> None:
    numbers = {"data.dataset": "synthetic_regression", "training.loss": "mean_squared_error"}
    spec = {"parameters": {"rounds.clients": [1, 2]}, "objective": "accuracy", "trials": 1}
    tuned = document(spec).set(*(f"{path}={value}" for path, value in numbers.items()))
    with pytest.raises(InputError, match="loss 'mean_squared_error' has no accuracy"):
        tune(tuned, tmp_path)


def test_it_is_told_how_to_get_optuna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'simfl\[tune\]'"):
        timed(tmp_path)
