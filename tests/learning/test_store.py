import numpy as np
import pytest

from simfl.errors import RunError
from simfl.learning.store import ModelStore
from simfl.work import Plan, WorkOrder


def model(value):
    return np.full(3, value, dtype=np.float32)


def test_old_versions_go_when_nobody_needs_them():
    store = ModelStore(model(0))
    store.hold(0)
    store.hold(0)
    assert store.publish(model(1)) == 1
    assert len(store) == 2
    assert store.params[0] == 1
    store.release(0)
    assert 0 in store
    store.release(0)
    assert 0 not in store
    with pytest.raises(RunError, match="version 0 was freed"):
        store[0]
    with pytest.raises(RunError, match="released more often"):
        store.release(1)
    for version in range(2, 100):
        store.hold(store.newest)
        store.publish(model(version))
        store.release(version - 1)
    assert len(store) == 1


def test_models_can_not_be_changed_from_outside():
    mine = model(0)
    store = ModelStore(mine)
    mine[:] = 9
    assert store.params[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        store.params[0] = 1


def test_bases_of_orders():
    store = ModelStore(model(0))
    store.hold(0)
    store.publish(model(1))
    orders = [WorkOrder(client, 0, 1, base, Plan(), 0) for client, base in enumerate((1, 0, 1))]
    bases = store.bases(orders)
    assert list(bases) == [0, 1]
    assert bases[1][0] == 1


def test_resume():
    store = ModelStore.resume(41, model(5))
    assert store.newest == 41
    assert store[41][0] == 5
    assert store.publish(model(6)) == 42
    assert 41 not in store
