"""The full workload: every client trains as asked, whether or not it can make it in time.

FedAvg (McMahan et al., 2017, arXiv:1602.05629, algorithm 1).  Under a deadline this is FedAvg-DS:
what comes too late is dropped.
"""

from typing_extensions import override

from simfl.components.workloads.base import Assignment, Workload, workloads
from simfl.core.component import overrides
from simfl.core.work import Plan


@workloads.register("full")
class Full(Workload):
    """All nominal epochs (or steps); a client without samples is skipped.

    Cost: ``E * m`` sample-units.
    """

    @override
    def asks_all(self, *, timed: bool) -> bool:
        return not overrides(self, Full.plan)

    @override
    def plan(self, assignment: Assignment) -> Plan | None:
        return assignment.nominal() if assignment.samples else None
