"""The contract of every workload, as a test suite to inherit: see `simfl.testing.contract`."""

import math
from collections.abc import Callable
from typing import ClassVar

from hypothesis import example, given
from hypothesis import strategies as st

from simfl.components.workloads.base import Assignment, Workload
from simfl.core.work import Plan
from simfl.testing.contract import RELAXED, ComponentContract


def assignment(
    samples: int,
    units_left: float,
    *,
    batch_size: int = 8,
    epochs: int = 5,
    steps: int | None = None,
    client: int = 0,
    number: int = 0,
    convex: bool = False,
) -> Assignment:
    """Return what a workload sees of a client that can compute `units_left` sample-units."""
    return Assignment(
        client,
        samples,
        batch_size,
        epochs,
        steps,
        lambda units: units <= units_left,
        number,
        convex,
    )


class WorkloadContract(ComponentContract):
    """What holds for every workload; inherit and set `create`."""

    create: Callable[..., Workload]
    overruns: ClassVar[bool] = False
    """Whether a client may be given more than fits before its deadline."""
    nominal: ClassVar[bool] = True
    """Whether a client with time enough trains the nominal epochs (or steps)."""

    def plan(self, workload: Workload, task: Assignment) -> Plan | None:
        """Return the plan and check what it must always be."""
        plan = workload.plan(task)
        assert plan == task.nominal() or not workload.asks_all(timed=True), f"{plan} is not all"
        if plan is None:
            return None
        assert plan.n_steps(task.samples, task.batch_size) > 0, f"nothing to do in {plan}"
        assert 0 <= plan.coreset_size <= task.samples, plan
        assert min(plan.full_epochs, plan.coreset_epochs) >= 0, plan
        assert 0 <= plan.extra_units < math.inf, plan
        assert self.overruns or task.fits(task.units(plan)), f"{plan} misses the deadline"
        return plan

    @RELAXED
    @given(
        samples=st.integers(1, 60),
        batch_size=st.integers(1, 20),
        epochs=st.integers(1, 6),
        share=st.floats(0, 2),
        convex=st.booleans(),
        rounds=st.integers(1, 4),
    )
    def test_plans_fit_the_time_left(
        self, samples: int, batch_size: int, epochs: int, share: float, convex: bool, rounds: int
    ) -> None:
        """However little time there is, round after round."""
        workload, left = self.create().fresh(), share * epochs * samples
        for number in range(rounds):
            self.plan(
                workload,
                assignment(
                    samples,
                    left,
                    batch_size=batch_size,
                    epochs=epochs,
                    convex=convex,
                    number=number,
                ),
            )

    @RELAXED
    @given(samples=st.integers(1, 60), steps=st.integers(1, 20), share=st.floats(0, 2))
    def test_steps_instead_of_epochs(self, samples: int, steps: int, share: float) -> None:
        """Where it can go with those; else it should object to them."""
        workload = self.create().fresh()
        if not workload.needs_epochs:
            self.plan(workload, assignment(samples, share * 8 * steps, steps=steps))

    def test_nobody_without_samples_works(self) -> None:
        """Such a client is skipped."""
        assert self.create().fresh().plan(assignment(0, 100.0)) is None

    def test_with_time_enough_all_is_done(self) -> None:
        """As without a deadline: the nominal epochs, or steps."""
        workload = self.create().fresh()
        if not self.nominal:
            assert not workload.asks_all(timed=False), "it does not ask for all, but says so"
            return
        given = [assignment(30, math.inf)]
        if not workload.needs_epochs:
            given.append(assignment(30, math.inf, steps=7))
        for task in given:
            assert self.plan(workload, task) == task.nominal()

    @RELAXED
    @example(samples=20, first=45.0, second=300.0)
    @example(samples=20, first=25.0, second=300.0)
    @given(samples=st.integers(1, 60), first=st.floats(0, 300), second=st.floats(0, 300))
    def test_more_time_is_never_less_work(self, samples: int, first: float, second: float) -> None:
        """At a client's first participation."""
        work = []
        for left in sorted((first, second)):
            given = assignment(samples, left)
            plan = self.plan(self.create().fresh(), given)
            work.append(0.0 if plan is None else given.units(plan))
        assert work[0] <= work[1], f"in {max(first, second)} it does less: {work}"

    def test_same_clients_same_plans(self) -> None:
        """Two workloads that are asked the same answer the same, round after round."""
        given = [
            assignment(10 + client, 20.0 * (client + number), client=client, number=number)
            for number in range(4)
            for client in range(4)
        ]
        logs = []
        for _ in range(2):
            workload = self.create().fresh()
            logs.append([self.plan(workload, task) for task in given])
        assert logs[0] == logs[1]
