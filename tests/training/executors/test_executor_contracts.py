"""Every registered executor goes through the contract, which catches faulty ones."""

from dataclasses import replace

import numpy as np
import pytest

from simfl.testing.contract import suites
from simfl.testing.executors import ExecutorContract
from simfl.training.executors.base import executors
from simfl.training.executors.inline import Inline

made = suites(ExecutorContract, executors, {"processes": {"options": {"workers": 2}}})
ON_A_CLUSTER = made.pop("Test_ray")  # `test_ray.py` starts one and holds it to more than this
globals().update(made)


class Shuffled(Inline):
    def train(self, batch):
        return super().train(batch)[::-1]


class Rounds(Inline):
    def train(self, batch):
        results = super().train(batch)
        for result in results:
            result.params[:] = np.round(result.params, 4)
        return results


class Uncorrected(Inline):
    def train(self, batch):
        return super().train(replace(batch, corrections=None))


class Straight(Inline):
    """Adds up in another order."""

    def add_up(self, batch, weigh):
        added = super().add_up(batch, weigh)
        sound = batch.part(
            [at for at, order in enumerate(batch.orders) if order.key not in added.discarded]
        )
        models = np.stack([result.params for result in self.train(sound)]).astype(np.float64)
        return replace(added, total=weigh(sound.orders) @ models)


class Estimates(Inline):
    def measure(self, report, params, clients, batch=None, round_=1):
        return super().measure(report, params, clients)


class Unclosable(Inline):
    def close(self):
        pass


class Insatiable(Inline):
    def train(self, batch):
        return super().train(batch) or [None]


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Shuffled, "test_bits_are_those_of_one_process"),
        (Rounds, "test_bits_are_those_of_one_process"),
        (Uncorrected, "test_bits_are_those_of_one_process"),
        (Straight, "test_sums_are_those_of_one_process"),
        (Estimates, "test_bits_are_those_of_one_process"),
        (Unclosable, "test_it_can_be_closed_twice_and_started_again"),
        (Insatiable, "test_bits_are_those_of_one_process"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(ExecutorContract, test, fault, sound=Inline)
