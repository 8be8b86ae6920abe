"""Executor `auto`: alone at first, with workers once that pays; the bits are `inline`'s."""

import time

import numpy as np
import pytest

from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import RunError
from simfl.training.executors import auto
from simfl.training.executors.auto import Auto, sharing
from simfl.training.executors.inline import Inline
from simfl.training.task import Task
from tests.training.learning_stubs import Logistic, initial, make_orders, make_task

SIZES = [30, 50, 20, 40]


@pytest.mark.parametrize(("cores", "hires"), [(1, False), (2, True)])
def test_workers_are_hired_when_there_are_cores(
    cores: int, hires: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simfl.training.executors.processes import Processes

    monkeypatch.setattr(auto, "PATIENCE_S", 0.0)
    monkeypatch.setattr(auto, "WORTH_S", 0.0)
    hired, start = [], Processes.start

    def starting(self: Processes, task: Task) -> None:
        hired.append(self.workers)
        start(self, task)

    monkeypatch.setattr(Processes, "start", starting)
    task, orders = make_task(Logistic(), SIZES), make_orders(SIZES)
    batch, alone, executor = OrderBatch({0: initial(task)}, orders), Inline(), Auto()
    alone.start(task)
    executor.start(task)
    with sharing(cores):
        for _ in range(3):
            expected = alone.train(batch)
            for result, other in zip(executor.train(batch), expected, strict=True):
                assert np.array_equal(result.params, other.params)
    assert hired == ([2] if hires else [])
    executor.close()


@pytest.mark.parametrize("adds_up", [False, True])
def test_workers_that_make_it_no_faster_are_dismissed(
    adds_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of ten million parameters took 1.3 times as long, each travelling for 20 samples."""
    from simfl.training.executors.processes import Processes

    for name in ("PATIENCE_S", "WORTH_S", "TRIAL_S"):
        monkeypatch.setattr(auto, name, 0.0)
    train = Processes.train

    def travelling(self: Processes, batch: OrderBatch) -> list[WorkResult]:
        time.sleep(0.3)
        return train(self, batch)

    monkeypatch.setattr(Processes, "train", travelling)
    task, executor = make_task(Logistic(), SIZES), Auto()
    batch = OrderBatch({0: initial(task)}, make_orders(SIZES))
    executor.start(task)
    called: list[int] = []
    for cores in (1, 1, 2, 2, 2, 2):
        with sharing(cores):
            if adds_up:
                executor.add_up(batch, lambda orders: np.ones(len(orders)))
            else:
                executor.train(batch)
        called.append(executor.side_by_side)
    assert called == [1, 1, 2, 2, 1, 1]
    executor.close()


def test_where_there_is_no_room_for_workers_it_goes_on_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nowhere(*_: object, **__: object) -> None:
        raise RunError("no room")

    monkeypatch.setattr(auto, "PATIENCE_S", 0.0)
    monkeypatch.setattr(auto, "WORTH_S", 0.0)
    monkeypatch.setattr("simfl.training.executors.worker.started", nowhere)
    task, executor = make_task(Logistic(), SIZES), Auto()
    batch = OrderBatch({0: initial(task)}, make_orders(SIZES))
    executor.start(task)
    with sharing(2):
        first, *others = [executor.train(batch) for _ in range(3)]
    for results in others:
        for result, expected in zip(results, first, strict=True):
            assert np.array_equal(result.params, expected.params)
    assert caplog.text.count("alone: no room") == 1
    executor.close()
