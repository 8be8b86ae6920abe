"""Samples as they are read: what every reader of files of the user's own returns and checks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags
from simfl.core.words import numbered
from simfl.errors import InputError, nearest

FLOAT32, FLOAT64 = (float(np.finfo(kind).max) for kind in (np.float32, np.float64))
"""The largest number of either kind."""
TRUE = ("1", "1.0", "true", "t", "yes", "y", "test")
"""What a cell of `test` says of a test sample, whatever its case."""
FALSE = ("0", "0.0", "false", "f", "no", "n", "train", "")
"""What it says of others; whatever else it says counts as that, too."""


@dataclass(frozen=True)
class Rows:
    """Samples as they were read.

    Attributes:
        x: `(n, ...)` inputs, numbers.
        label: `(n,)` what is to be learned, numbers or text; or `(n, outputs)` numbers.
        client: `(n,)` whose sample each is (None: not said).
        test: `(n,)` which are for testing (None: not said).
        test_owned: whether `client` holds for test samples, too.
    """

    x: NDArray[Any]
    label: NDArray[Any]
    client: NDArray[Any] | None = None
    test: Flags | None = None
    test_owned: bool = True

    def require_finite(self, file: Path, largest: float) -> None:
        """Check that inputs and labels are finite.

        Args:
            file: where they come from, for the message.
            largest: the largest magnitude that an input may have.

        Raises:
            InputError: one is not; it names the first sample.
        """
        order = "" if self.test_owned else ", those for training first"
        for what, values, limit in (
            ("inputs are not finite, or too large", self.x, largest),
            ("labels are empty or not finite", self.label, FLOAT64),
        ):
            if values.dtype.kind != "f" or not values.size:
                continue
            # NaN is an end, too, and not within limits, which float16 would round to infinity.
            if -limit <= float(values.min()) and float(values.max()) <= limit:
                continue
            within = np.abs(values.astype(np.float64)) <= limit
            sound = within.reshape(len(values), -1).all(axis=1)
            raise InputError(
                f"{file}: {what}, the first of them in sample {int(np.argmin(sound)):,} of "
                f"{len(values):,}, counted from 0{order}"
            )

    def with_test(self, x: NDArray[Any], label: NDArray[Any]) -> "Rows":
        """Return these rows, and more for testing: inputs `(t, ...)` and labels `(t,)`, as here."""
        test = np.zeros(len(self.label), dtype=np.bool_) if self.test is None else self.test
        client = self.client
        if client is not None:  # whose test samples are is not known
            client = np.concatenate([client, np.repeat(client[:1], len(label))])
        return Rows(
            np.concatenate([self.x, x]),
            np.concatenate([self.label, label]),
            client,
            np.concatenate([test, np.ones(len(label), dtype=np.bool_)]),
            test_owned=False,
        )


def for_testing(cells: Iterable[object]) -> Flags:
    """Return `(n,)` which cells of a column `test` say so."""
    return np.array([str(cell).strip().lower() in TRUE for cell in cells], dtype=np.bool_)


def whose(what: str, owners: NDArray[Any], file: Path) -> NDArray[Any]:
    """Return `(n,)` owners, or labels, that are all told.

    Raises:
        InputError: some are empty, or no finite numbers.
    """
    empty = ~np.isfinite(owners) if owners.dtype.kind == "f" else owners == ""
    if owners.dtype.kind in "fU" and empty.any():
        raise InputError(
            f"{file}: {what} has {numbered(int(empty.sum()), 'empty cell')}, the first of them in "
            f"row {int(np.argmax(empty)) + 1} of {len(owners):,}"
        )
    return owners


def known(name: str, names: Sequence[str], what: str, file: object) -> str:
    """Return `name`.

    Raises:
        InputError: it is none of the `names` of what is in the file.
    """
    if name not in names:
        raise InputError(f"{file} has no {what} {name!r}{nearest(name, names)}")
    return name
