"""The components of `examples/components.py` run, and an interrupted run of them goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from examples import components
from simfl import Scenario, resume, run
from simfl.core.component import Component
from simfl.errors import ScenarioError
from simfl.testing.aggregators import AggregatorContract
from simfl.testing.availability import AvailabilityContract
from simfl.testing.contract import ComponentContract
from simfl.testing.networks import NetworkContract
from simfl.testing.policies import PolicyContract
from tests.tiny import TINY

FOLDER = Path(__file__).parents[2] / "examples"
CHANGES = (
    "aggregation={name: 'components:Nesterov', pull: 0.2}",
    "rounds.policy={name: 'components:FirstFew', enough: 2}",
    "network={name: 'components:Satellite', rate: 80 kbit/s}",
    "fleet.availability={name: 'components:Shifts', length: 3 s}",
)


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def test_all_at_once(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(TINY, overrides=CHANGES)
    [result] = run(scenario, tmp_path)
    assert (result.rounds.arrived <= 2).all()
    assert result.rounds.arrived.sum() > 4
    assert set(result.clients.outcome) >= {"arrived", "late"}
    log = (result.folder / "events.jsonl").read_bytes()
    (result.folder / "summary.json").unlink()
    resume(result.folder)
    assert (result.folder / "events.jsonl").read_bytes() == log


def short_shifts() -> components.Shifts:
    """Five of them are 5.5 s, in which only four fit: 1.1 s is stored as a trifle more."""
    return components.Shifts.model_validate({"length": "1.1 s"})


def suites() -> dict[str, type[ComponentContract]]:
    contracts: dict[Callable[[], Component], type[ComponentContract]] = {
        components.Nesterov: AggregatorContract,
        components.FirstFew: PolicyContract,
        components.Satellite: NetworkContract,
        components.Shifts: AvailabilityContract,
        short_shifts: AvailabilityContract,
    }
    return {
        f"Test_{create.__name__}": type(
            create.__name__, (contract,), {"create": staticmethod(create)}
        )
        for create, contract in contracts.items()
    }


globals().update(suites())


def test_a_component_may_object() -> None:
    with pytest.raises(ScenarioError, match="aggregation: aggregator 'Nesterov' is a momentum"):
        Scenario.from_dict(TINY, overrides=[*CHANGES, "training.optimizer.momentum=0.9"])
