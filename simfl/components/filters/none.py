"""No filter: every update counts, as in FedAvg."""

from typing import ClassVar

from typing_extensions import override

from simfl.components.filters.base import Update, UpdateFilter, filters


@filters.register("none")
class NoFilter(UpdateFilter):
    """Everything is uploaded and averaged."""

    needs_updates: ClassVar[bool] = False

    @override
    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        return True
