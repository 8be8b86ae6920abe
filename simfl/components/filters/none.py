"""No filter: every update counts, as in FedAvg."""

from typing_extensions import override

from simfl.components.filters.base import Stage, Update, UpdateFilter, filters


@filters.register("none")
class NoFilter(UpdateFilter):
    """Everything is uploaded and averaged."""

    @property
    @override
    def stage(self) -> Stage:
        return "none"

    @override
    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        return True
