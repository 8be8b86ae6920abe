"""What data sets of the user's own have in common: from rows as they are read to a federation's."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, model_validator
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples
from simfl.components.targets import Targets
from simfl.core.code import folder_beside
from simfl.core.files import similar_file
from simfl.core.seeds import Seeds
from simfl.core.types import Flags
from simfl.core.units import Percent
from simfl.errors import InputError, nearest

TRUE = ("1", "1.0", "true", "t", "yes", "y", "test")
"""What a cell of `test` says of a test sample, whatever its case."""
FALSE = ("0", "0.0", "false", "f", "no", "n", "train", "")
"""What it says of others; whatever else it says counts as that, too."""

_AT_ONCE = 4096
"""Rows that are standardised at a time."""
ENOUGH = 20
"""Samples from which on classes of one sample each are no small classes, but none."""


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

    def with_test(self, x: NDArray[Any], label: NDArray[Any]) -> "Rows":
        """Return these rows, and more for testing: inputs and labels."""
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


@dataclass(frozen=True)
class _Facts:
    shape: tuple[int, ...]
    classes: int
    train: int | None
    clients: int | None
    vocabulary: int | None


_KNOWN: dict[tuple[Any, ...], _Facts] = {}
"""What was found out about a file, as it was then: it is asked for many times."""


class OwnDataset(Dataset):
    """Samples of the user's own.

    Classes are the different labels, in their order; the natural clients those of whom there is a
    training sample.
    """

    learn: Targets = Field(
        "classes",
        description="kind of target: one class per sample; labels, several of 0 or 1 "
        "(multi-label); or numbers (regression)",
    )
    inputs_are: Literal["measurements", "tokens"] = Field(
        "measurements",
        description="tokens: whole numbers from 0, which a model with an embedding looks up",
    )
    test_share: Percent = Field(
        0.2,
        lt=1,
        description="share of samples drawn for testing, if nothing marks the test samples",
    )
    normalise: Literal["none", "standard"] = Field(
        "none",
        description="standard: subtract each input's mean over training samples, divide by its "
        "standard deviation",
    )
    _root: Path = PrivateAttr(default_factory=folder_beside)

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if self.tokens and self.normalise != "none":
            raise ValueError(f"tokens are numbers of things: `normalise: {self.normalise}` is none")
        self._facts()
        return self

    @abstractmethod
    def source(self) -> Path:
        """Return the file or folder that is read."""

    @abstractmethod
    def rows(self) -> Rows:
        """Read everything.

        Raises:
            InputError: it can't be read, or has no such column; the message names both.
        """

    @property
    def natural_clients(self) -> bool:  # type: ignore[override]
        """Whether it is said whose each sample is: by an option `client`."""
        return getattr(self, "client", None) is not None

    @property
    def targets(self) -> Targets:  # type: ignore[override]
        """What is to be learned."""
        return self.learn

    @property
    def tokens(self) -> bool:  # type: ignore[override]
        """Whether inputs are tokens."""
        return self.inputs_are == "tokens"

    @property
    @override
    def black(self) -> tuple[float, ...] | None:
        return () if self.normalise == "none" else None

    @property
    @override
    def samples_known(self) -> int | None:
        return self._facts().train

    @property
    @override
    def natural_known(self) -> int | None:
        return self._facts().clients

    @property
    @override
    def vocabulary_known(self) -> int | None:
        return self._facts().vocabulary

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        facts = self._facts()
        return facts.shape, facts.classes

    def _facts(self, rows: Rows | None = None) -> _Facts:
        """Return what is known of the source; anew, if its `rows` were just read."""
        try:
            stat = self.source().stat()
        except OSError as error:
            hint = similar_file(self.source()) if isinstance(error, FileNotFoundError) else ""
            raise InputError(f"can't read {self.source()}: {error.strerror}{hint}") from None
        file = str(self.source().resolve())
        key = (self.name, file, stat.st_mtime_ns, stat.st_size, self.model_dump_json())
        if rows is not None or key not in _KNOWN:
            rows = rows or self.rows()
            drawn = rows.test is None and self.test_share > 0
            test = np.zeros(len(rows.label), np.bool_) if rows.test is None else rows.test
            n = int((~test).sum())
            train = n - round(n * self.test_share) if drawn else n
            _, classes = self._targets(rows)
            vocabulary = int(self._inputs(rows).max(initial=-1)) + 1 if self.tokens else None
            known = None if drawn or rows.client is None else rows.client[~test]
            clients = None if known is None else len(np.unique(known))
            _KNOWN[key] = _Facts(rows.x.shape[1:], classes, train, clients, vocabulary)
        return _KNOWN[key]

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        """Read, split and normalise; the test part is drawn from ``("data", "test")``."""
        rows = self.rows()
        self._facts(rows)  # of folders it can't be seen from outside that they have changed
        y, classes = self._targets(rows)
        test = rows.test
        if test is None:
            test = np.zeros(len(y), dtype=np.bool_)
            drawn = seeds.stream("data", "test").permutation(len(y))
            test[drawn[: round(len(y) * self.test_share)]] = True
        x = _standard(rows.x, ~test) if self.normalise == "standard" else self._inputs(rows)
        samples = Samples(x[~test], y[~test]), Samples(x[test], y[test])
        if rows.client is None:
            return Corpus(*samples, classes)
        owners = rows.client[~test]
        tested = _rows_of(np.unique(owners), rows.client[test]) if rows.test_owned else None
        return Corpus(*samples, classes, grouped(owners), tested)

    def _inputs(self, rows: Rows) -> NDArray[Any]:
        """Return `(n, ...)` inputs as they are trained on."""
        if not self.tokens:
            return rows.x.astype(np.float32)
        whole = (rows.x >= 0) & (rows.x == np.rint(rows.x))
        if not whole.all():
            raise InputError(
                f"{self.source()}: tokens are whole numbers from 0, but one is "
                f"{rows.x[~whole][0]:g}"
            )
        return rows.x.astype(np.int64)

    def _targets(self, rows: Rows) -> tuple[NDArray[Any], int]:
        """Return `(n, ...)` targets as they are trained on, and how many classes or numbers."""
        if not len(rows.label):
            raise InputError(f"{self.source()} has no samples")
        if rows.label.dtype.kind == "f" and not np.isfinite(rows.label).all():
            raise InputError(f"{self.source()}: some labels are empty or not finite")
        if len(rows.x) != len(rows.label):
            raise InputError(
                f"{self.source()} has {len(rows.x)} inputs, but {len(rows.label)} labels"
            )
        if self.learn == "classes":
            if rows.label.ndim != 1:
                raise InputError(
                    f"{self.source()}: a label has {rows.label[0].size} numbers, but a class is "
                    "one; several labels of 0 or 1 are `learn: labels`, regression `learn: numbers`"
                )
            names, y, held = np.unique(rows.label, return_inverse=True, return_counts=True)
            if len(names) == 1:
                raise InputError(
                    f"{self.source()}: all samples are of the class {_cell(names[0])}, so that "
                    "there is nothing to tell apart"
                )
            if len(y) >= ENOUGH and (alone := held == 1).sum() > len(y) / 2:
                raise InputError(
                    f"{self.source()}: {alone.sum():,} of {len(y):,} samples have a label of "
                    f"their own, such as {_cell(names[alone][0])}: these are no classes; "
                    "for numbers to predict write `learn: numbers`"
                )
            return y.astype(np.int64), len(names)
        if rows.label.dtype.kind not in "biuf":
            raise InputError(
                f"{self.source()}: labels are text, such as {str(rows.label[0])!r}, no numbers"
            )
        numbers = rows.label.reshape(len(rows.label), -1).astype(np.float32)
        if self.learn == "labels" and (odd := numbers[(numbers != 0) & (numbers != 1)]).size:
            raise InputError(f"{self.source()}: labels are 0 or 1, but one is {odd[0]:g}")
        return numbers, numbers.shape[1]


def _cell(label: Any) -> str:
    """Return a label as a user would write it."""
    return repr(str(label)) if isinstance(label, str) else str(label)


def _standard(x: NDArray[Any], train: Flags) -> NDArray[np.float32]:
    """Return `x` with mean 0 and deviation 1 over `train`: in float64, which tells times apart."""
    seen = x[train]
    mean, deviation = seen.mean(0, dtype=np.float64), seen.std(0, dtype=np.float64)
    per = np.where(deviation > 0, deviation, 1.0)
    standard = np.empty(x.shape, dtype=np.float32)
    for first in range(0, len(x), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        standard[part] = (x[part] - mean) / per
    return standard


def grouped(owners: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return per owner, in order, the rows that are its."""
    _, owner = np.unique(owners, return_inverse=True)
    order = np.argsort(owner, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(owner[order])) + 1)


def _rows_of(names: NDArray[Any], owners: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return for each of `names` the rows that are its."""
    order = np.argsort(owners, kind="stable")
    first, last = (np.searchsorted(owners[order], names, side) for side in ("left", "right"))
    return [order[low:high] for low, high in zip(first, last, strict=True)]


def for_testing(cells: Iterable[object]) -> Flags:
    """Return which cells of a column `test` say so."""
    return np.array([str(cell).strip().lower() in TRUE for cell in cells], dtype=np.bool_)


def whose(what: str, owners: NDArray[Any], file: Path) -> NDArray[Any]:
    """Return `(n,)` owners, or labels, that are all told.

    Raises:
        InputError: some are empty, or no finite numbers.
    """
    empty = ~np.isfinite(owners) if owners.dtype.kind == "f" else owners == ""
    if owners.dtype.kind in "fU" and empty.any():
        raise InputError(
            f"{file}: {what} has {int(empty.sum()):,} empty cells, the first of them in row "
            f"{int(np.argmax(empty)) + 1} of {len(owners):,}"
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
