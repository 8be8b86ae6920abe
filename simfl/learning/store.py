"""Versions of the global model, kept for as long as somebody may still train from them."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from simfl.errors import RunError
from simfl.work import Params, WorkOrder


class ModelStore:
    """Model versions by number; version 0 is the initial model.

    The newest version always stays.  An older one is freed as soon as nobody holds it: an open
    order holds its base (`hold` when it is issued, `release` when it is collected or dropped).
    """

    def __init__(self, initial: Params) -> None:
        self._models: dict[int, Params] = {0: self._frozen(initial)}
        self._holders: Counter[int] = Counter()
        self.newest = 0

    @classmethod
    def resume(cls, version: int, params: Params) -> "ModelStore":
        """Return a store whose newest model is `params` at `version`."""
        store = cls(params)
        store._models = {version: store._models[0]}
        store.newest = version
        return store

    @property
    def params(self) -> Params:
        """The newest model `(p,)`, read-only."""
        return self._models[self.newest]

    def __getitem__(self, version: int) -> Params:
        """Return the model `(p,)` of `version`, read-only."""
        try:
            return self._models[version]
        except KeyError:
            raise RunError(f"model version {version} was freed or never existed") from None

    def __len__(self) -> int:
        return len(self._models)

    def __contains__(self, version: object) -> bool:
        return version in self._models

    def publish(self, params: Params) -> int:
        """Make `params` the newest version and return its number."""
        former = self.newest
        self.newest += 1
        self._models[self.newest] = self._frozen(params)
        self._free(former)
        return self.newest

    def hold(self, version: int) -> None:
        """Keep `version` until `release` is called as often as `hold` was."""
        self[version]
        self._holders[version] += 1

    def release(self, version: int) -> None:
        """Undo one `hold`."""
        if self._holders[version] < 1:
            raise RunError(f"model version {version} was released more often than held")
        self._holders[version] -= 1
        self._free(version)

    def bases(self, orders: Iterable[WorkOrder]) -> Mapping[int, Params]:
        """Return the models that `orders` start from, by version."""
        return {version: self[version] for version in sorted({order.base for order in orders})}

    def _free(self, version: int) -> None:
        if version != self.newest and not self._holders[version]:
            self._models.pop(version, None)
            del self._holders[version]

    @staticmethod
    def _frozen(params: Params) -> Params:
        copy = np.array(params, dtype=np.float32)
        copy.flags.writeable = False
        return copy
