"""Versions of the model: as many as somebody needs, under the keys that old checkpoints have."""

import numpy as np
import pytest

from simfl.coordinators.model_versions import ModelVersions
from simfl.core.work import Plan, WorkOrder

MODELS = [np.full(2, number, dtype=np.float32) for number in range(4)]


@pytest.fixture
def versions() -> ModelVersions:
    """Versions 0 to 3."""
    kept = ModelVersions(MODELS[0])
    for model in MODELS[1:]:
        kept.add(model)
    return kept


def test_the_present_model_is_the_one_added_last(versions: ModelVersions) -> None:
    assert ModelVersions(MODELS[0]).model is MODELS[0]
    assert versions.present == 3
    assert versions.model is MODELS[3]
    assert versions[1] is MODELS[1]


def test_work_starts_from_the_very_arrays_each_version_once(versions: ModelVersions) -> None:
    """A device tells by the object whether it has a model already."""
    orders = [WorkOrder(client, 0, 1, base, Plan(1), 0) for client, base in enumerate([2, 0, 2])]
    bases = versions.bases(orders)
    assert list(bases) == [2, 0]
    assert bases[2] is MODELS[2]
    assert bases[0] is MODELS[0]


def test_what_nobody_needs_is_forgotten_and_numbers_go_on(versions: ModelVersions) -> None:
    versions.forget({1, 3})
    with pytest.raises(KeyError):
        versions[2]
    versions.add(MODELS[0])
    assert versions.present == 4
    assert [versions[version][0] for version in (1, 3, 4)] == [1, 3, 0]


def test_a_checkpoint_holds_what_is_needed_and_no_later_change(versions: ModelVersions) -> None:
    versions.forget({1, 3})
    state = versions.state_dict()
    versions.add(MODELS[0])
    restored = ModelVersions(MODELS[2])
    restored.load_state_dict(state)
    assert restored.state_dict() == {"version": 3, "models": {1: MODELS[1], 3: MODELS[3]}}
    restored.add(MODELS[0])
    assert list(state["models"]) == [1, 3]
