"""Rows that are looked up by the name of whose they are."""

from collections.abc import Sequence

import numpy as np

from simfl.core.tables.table import number
from simfl.core.types import Ids
from simfl.core.words import numbered
from simfl.errors import MEANT, InputError, nearest


def places_of(names: Sequence[str], known: Sequence[str], file: object) -> Ids:
    """Return `(n,)` where in `known` each of `names` is: as text or, where none is, as a number.

    Args:
        names: of clients, as their data have them.
        known: of rows of a file; each is there once.
        file: its name, for messages.

    Raises:
        InputError: one is not there.
    """
    by_text = {name: place for place, name in enumerate(known)}
    numbers = ((number(name), place) for place, name in enumerate(known))
    by_number = {value: place for value, place in numbers if np.isfinite(value)}
    places = [by_text.get(name, by_number.get(number(name), -1)) for name in names]
    missing = [name for name, place in zip(names, places, strict=True) if place < 0]
    if missing:
        more = f" (nor for {numbered(len(missing) - 1, 'other')})" if len(missing) > 1 else ""
        hint = nearest(missing[0], known)
        hint = hint if hint.startswith(MEANT) else ""  # there may be thousands
        raise InputError(f"{file} has no row for client {missing[0]!r}{more}{hint}")
    return np.array(places, dtype=np.int64)
