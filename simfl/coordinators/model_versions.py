"""The versions of the global model: the present one, and older ones that work began at."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from simfl.core.types import Params
from simfl.core.work import WorkOrder


class ModelVersions:
    """Models by version: 0 is the initial one, the highest the present one.

    Those below zero are edge servers' own.

    Args:
        initial: `(p,)` version 0.

    Attributes:
        present: version of the present model.
    """

    def __init__(self, initial: Params) -> None:
        self.present = 0
        self._models: dict[int, Params] = {0: initial}

    def __getitem__(self, version: int) -> Params:
        return self._models[version]

    @property
    def model(self) -> Params:
        """`(p,)` the present model."""
        return self._models[self.present]

    def add(self, model: Params) -> None:
        """Make `model` `(p,)` the present one."""
        self.present += 1
        self._models[self.present] = model

    def add_of_edge(self, version: int, model: Params, instead: int) -> None:
        """Keep `model` `(p,)` of an edge as `version`, below zero, and no more the one it had."""
        if instead < 0:
            del self._models[instead]
        self._models[version] = model

    def forget_edges(self) -> None:
        """Forget the models of edges."""
        self._models = {v: model for v, model in self._models.items() if v >= 0}

    def bases(self, orders: Sequence[WorkOrder]) -> dict[int, Params]:
        """Return the models `(p,)` that `orders` start from, by version.

        They are the very arrays that were added, by which a GPU knows what it has already.
        """
        return {order.base: self._models[order.base] for order in orders}

    def forget(self, needed: Collection[int]) -> None:
        """Forget all versions but edges' and those `needed`, which has the present one."""
        self._models = {v: model for v, model in self._models.items() if v in needed or v < 0}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a checkpoint must keep."""
        return {"version": self.present, "models": dict(self._models)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; other keys in `state` are somebody else's."""
        self.present, self._models = state["version"], dict(state["models"])
