"""What can't fit into memory is refused before it is allocated: Linux would end the run."""

import pytest

from simfl import Scenario
from simfl.build.model_facts import model_facts
from simfl.core.machine import memory
from simfl.errors import ScenarioError
from tests.tiny import TINY, RunTiny


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"model": {"name": "mlp", "hidden": [50_000_000]}},
            "model: model 'mlp' with 2,350,000,010 parameters needs 17.5 GiB of memory, and 1.0",
        ),
        (
            {"data.dataset.size": 2000},
            "data.dataset: data set 'synthetic_images' needs 3.6 GiB of memory, and 1.0 are left",
        ),
    ],
    ids=["model", "data"],
)
def test_what_does_not_fit_is_refused_with_its_place(
    changes: dict[str, object], told: str, run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: float(2**30))
    with pytest.raises(ScenarioError, match=told):
        run_tiny(changes)


def test_who_only_asks_for_the_time_needs_no_room_for_a_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = Scenario.from_dict({**TINY, "model": {"name": "mlp", "hidden": [100_000]}})
    one = 4 * model_facts(scenario).parameters
    monkeypatch.setattr(memory, "free_memory", lambda: 1.5 * one)
    assert 4 * model_facts(scenario).parameters == one
    with pytest.raises(ScenarioError, match="of memory"):
        model_facts(scenario, trains=True)
