"""Random work: clients that do as much as chance lets them, each time anew.

FedProx (Li et al., 2020, arXiv:1812.06127, section 5.2) has a share of a round's clients, the
stragglers, train a number of epochs between 1 and E, each equally likely; FedNova (Wang et al.,
2020, arXiv:2007.07481, section 6) has all train 2 to 5 (docs/algorithms.md, B.2).
"""

from collections.abc import Iterator

from pydantic import Field, PositiveInt
from typing_extensions import override

from simfl.components.workloads.base import Assignment, Workload, workloads
from simfl.core.circumstances import Circumstances
from simfl.core.seeds import generator
from simfl.core.units import Percent
from simfl.core.work import Plan

_AMOUNT = 1 << 32
"""Purpose of a participation's seed: see `simfl.core.work.Purpose`."""


@workloads.register("random_epochs")
class RandomEpochs(Workload):
    """Some of the nominal epochs (or steps), as many as chance says, anew at each participation.

    All numbers from `min` to the nominal one are equally likely, whatever time there is: who takes
    longer than a deadline allows is late.  A client's first, second, ... work is as much in all
    variants, so that aggregators meet the same.

    Cost: ``epochs * m`` sample-units.
    """

    min: PositiveInt = Field(1, description="least epochs (or steps); FedNova: 2")
    share: Percent = Field(
        1.0,
        gt=0,
        description="share of participations whose epochs are drawn, each with this chance; the "
        "others do all of the nominal work (FedProx: 50% and 90%)",
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        option, nominal = "steps", circumstances.steps
        if nominal is None:
            option, nominal = "epochs", circumstances.training.lr_epochs
        if self.min > nominal:
            yield f"workload {self.name!r}: `min` is {self.min}, but `{option}` only {nominal}"

    @override
    def plan(self, assignment: Assignment) -> Plan | None:
        if not assignment.samples:
            return None
        nominal = assignment.epochs if assignment.steps is None else assignment.steps
        rng = generator(assignment.rng_seed, _AMOUNT)
        if rng.random() >= self.share:
            return assignment.nominal()
        amount = int(rng.integers(self.min, nominal + 1))
        return Plan(full_epochs=amount) if assignment.steps is None else Plan(steps=amount)
