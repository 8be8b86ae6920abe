"""The data sets that calls of a pool share, each loaded by the process that hands out the calls."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from simfl.build.data import loaded
from simfl.build.shared_data import DataKey
from simfl.core.machine.shared import Shared, share
from simfl.core.seeds import Seeds

_LOG = logging.getLogger(__name__)


class Stock:
    """Data sets, each loaded when the first call begins that shares it, and closed with the last.

    Args:
        keys: which each call wants to share (None: none); what one alone wants it loads itself.
    """

    def __init__(self, keys: Sequence[DataKey | None]) -> None:
        self._keys: list[DataKey] = []
        self._numbers = [None if key is None else self._number(key) for key in keys]
        alone = {number for number, count in Counter(self._numbers).items() if count < 2}
        self._numbers = [None if number in alone else number for number in self._numbers]
        self._loaded: dict[int, Shared | None] = {}

    def _number(self, key: DataKey) -> int:
        if key not in self._keys:  # options of a data set may be such as can't be hashed
            self._keys.append(key)
        return self._keys.index(key)

    def get(self, call: int) -> tuple[DataKey, Shared] | None:
        """Return what a call shares, and its samples; None: it loads its own."""
        number = self._numbers[call]
        if number is None:
            return None
        if number not in self._loaded:
            self._loaded[number] = _load(self._keys[number])
        shared = self._loaded[number]
        return None if shared is None else (self._keys[number], shared)

    def keep_for(self, calls: Iterable[int]) -> None:
        """Close what none of these calls shares."""
        if not self._loaded:
            return
        wanted = {self._numbers[call] for call in calls}
        for number in self._loaded.keys() - wanted:
            shared = self._loaded.pop(number)
            if shared is not None:
                shared.close()


def _load(key: DataKey) -> Shared | None:
    try:
        corpus = loaded(key, Seeds(0))
        return share(replace(corpus, disposable=False, shared=True))
    except Exception as error:  # whatever it is, the call's own attempt tells it
        _LOG.info("data set %r is not shared: %s", key.dataset.name, error)
        return None
