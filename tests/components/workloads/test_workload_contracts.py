"""Every registered workload goes through the contract, which catches faulty ones."""

import numpy as np
import pytest

from simfl.components.workloads.base import workloads
from simfl.components.workloads.partial_epochs import PartialEpochs
from simfl.core.work import Plan
from simfl.testing.contract import suites
from simfl.testing.workloads import WorkloadContract

TRAITS = {
    "full": {"overruns": True},
    "fedsae": {"overruns": True, "nominal": False},
    "random_epochs": {"overruns": True, "nominal": False},
}
globals().update(suites(WorkloadContract, workloads, TRAITS))


def test_who_plans_otherwise_is_not_said_to_ask_for_all() -> None:
    assert PartialEpochs().asks_all(timed=False)
    assert not Idle().asks_all(timed=False)


class Late(PartialEpochs):
    def plan(self, assignment):
        return assignment.nominal() if assignment.samples else None


class Idle(PartialEpochs):
    def plan(self, assignment):
        return super().plan(assignment) or Plan()


class EvenWithoutSamples(PartialEpochs):
    def plan(self, assignment):
        return super().plan(assignment) or (None if assignment.samples else Plan(1))


class Lazy(PartialEpochs):
    def plan(self, assignment):
        done = assignment.fits(assignment.units(Plan(1)))
        return Plan(1) if assignment.samples and done else None


class AllOrLess(PartialEpochs):
    """With time enough for all, one epoch."""

    def plan(self, assignment):
        plan = super().plan(assignment)
        return Plan(1) if plan == assignment.nominal() else plan


class DrawsForItself(PartialEpochs):
    def plan(self, assignment):
        return super().plan(assignment) if np.random.default_rng().random() < 0.5 else None


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Late, "test_plans_fit_the_time_left"),
        (Late, "test_steps_instead_of_epochs"),
        (Idle, "test_plans_fit_the_time_left"),
        (EvenWithoutSamples, "test_nobody_without_samples_works"),
        (Lazy, "test_with_time_enough_all_is_done"),
        (AllOrLess, "test_more_time_is_never_less_work"),
        (DrawsForItself, "test_same_clients_same_plans"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(WorkloadContract, test, fault, sound=PartialEpochs)
