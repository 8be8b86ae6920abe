"""Partial work: as many whole epochs as fit before the deadline.

FedProx (Li et al., 2020, arXiv:1812.06127, section 3.2) as FedCore (arXiv:2402.00219) runs it: a
straggler trains ``floor(c * tau / m)`` epochs (docs/algorithms.md, B.2).  The proximal term itself
is an option of local training, not of the workload.
"""

from typing_extensions import override

from simfl.components.workloads.base import Assignment, Workload, most, workloads
from simfl.core.component import overrides
from simfl.core.work import Plan


@workloads.register("partial_epochs")
class PartialEpochs(Workload):
    """The nominal work if it fits, else the most whole epochs (or steps) that do, else nothing.

    Cost: ``epochs * m`` sample-units.
    """

    @override
    def asks_all(self, *, timed: bool) -> bool:
        return not timed and not overrides(self, PartialEpochs.plan)

    @override
    def plan(self, assignment: Assignment) -> Plan | None:
        if not assignment.samples:
            return None

        def part(amount: int) -> Plan:
            return Plan(full_epochs=amount) if assignment.steps is None else Plan(steps=amount)

        nominal = assignment.epochs if assignment.steps is None else assignment.steps
        amount = most(nominal, lambda count: assignment.fits(assignment.units(part(count))))
        return part(amount) if amount > 0 else None
