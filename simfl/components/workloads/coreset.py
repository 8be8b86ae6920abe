"""Coreset training: where time is short, one full epoch, then epochs over a few weighted samples.

FedCore (Guo et al., 2024, arXiv:2402.00219), algorithm 1 and sections 4.2 and 4.4;
docs/algorithms.md, B.3.  Where the authors' code rounds the budget up (and so overshoots the
deadline) and skips clients that can't make even one epoch, this follows the paper: the budget is
rounded down, so that ``m + (E - 1) * b <= c * tau`` always holds, and those clients train on a
coreset alone.
"""

from typing import Annotated

from pydantic import Field
from typing_extensions import override

from simfl.components.coresets.base import Coreset, coresets
from simfl.components.workloads.base import Assignment, Workload, most, workloads
from simfl.core.component import overrides
from simfl.core.work import Plan
from simfl.errors import InputError


@workloads.register("coreset")
class CoresetTraining(Workload):
    """Full training if it fits; else one full epoch and ``E - 1`` epochs on a coreset.

    The coreset has ``b = floor((c * tau - m - phi * m) / (E - 1))`` samples.  If not even one full
    epoch fits, all `E` epochs run on a coreset: of ``floor(c * tau / E)`` samples for a convex
    model (whose coreset depends on its inputs alone), else of ``floor((c * tau - phi * m) / E)``.

    Cost: ``m + (E - 1) * b + phi * m`` sample-units, no bytes.
    """

    needs_epochs = True

    method: Annotated[Coreset, coresets] = Field(
        "k_medoids",
        validate_default=True,
        description="the coreset component that chooses the samples",
    )
    fallback: bool = Field(
        True,
        description="train on a coreset alone where not even one full epoch fits "
        "(FedCore 4.4); false: skip the client, as the authors' code does",
    )
    feature_cost: float = Field(
        0.0,
        ge=0,
        description="phi: sample-units per sample for the coreset's features (FedCore: 0; "
        "a forward pass: 1/3 to 1/2, by model); raw inputs cost nothing",
    )

    @property
    @override
    def coreset(self) -> Coreset:
        return self.method

    @override
    def asks_all(self, *, timed: bool) -> bool:
        return not timed and not overrides(self, CoresetTraining.plan)

    @override
    def plan(self, assignment: Assignment) -> Plan | None:
        """Choose all samples if they fit the time left, else a coreset that does.

        Raises:
            InputError: local work is counted in steps, not epochs.
        """
        if assignment.steps is not None:
            raise InputError("workload 'coreset' needs training epochs, but got steps")
        m, epochs = assignment.samples, assignment.epochs
        if not m:
            return None
        if assignment.fits(assignment.units(Plan(full_epochs=epochs))):
            return Plan(full_epochs=epochs)
        free = self.method.uses(assignment.convex) in ("inputs", "none")
        pass_units = 0.0 if free else self.feature_cost * m
        if assignment.fits(assignment.units(Plan(full_epochs=1))) and epochs > 1:
            plan = self._largest(assignment, 1, pass_units)
            return plan if plan is not None else Plan(full_epochs=1)
        return self._largest(assignment, 0, pass_units) if self.fallback else None

    def _largest(self, assignment: Assignment, full: int, pass_units: float) -> Plan | None:
        """Return the plan with the largest coreset after `full` full epochs, None if empty."""

        def plan(size: int) -> Plan:
            return Plan(full, assignment.epochs - full, size, extra_units=pass_units)

        size = most(assignment.samples, lambda b: assignment.fits(assignment.units(plan(b))))
        return plan(size) if size > 0 else None
