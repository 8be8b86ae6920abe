"""What data sets of the user's own have in common: from rows as they are read to a federation's."""

import stat
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, model_validator
from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples
from simfl.components.datasets.own.as_inputs import as_tokens, standardised, zero_between
from simfl.components.datasets.own.as_targets import as_targets
from simfl.components.datasets.own.rows import FLOAT32, FLOAT64, Rows
from simfl.core.code import folder_beside
from simfl.core.component import decided_by_options
from simfl.core.file_tree import tree_version
from simfl.core.files import similar_file
from simfl.core.seeds import Seeds
from simfl.core.units import Percent
from simfl.errors import InputError


@dataclass(frozen=True)
class _Facts:
    """What is known of a file.

    Attributes:
        shape: of an input.
        classes: how many there are, or outputs.
        train: samples to train on.
        clients: natural ones that have some (None: there are none, or chance decides).
        names: of natural clients; where chance decides, of all.
        vocabulary: how many tokens (None: inputs are none).
        zero_between: whether 0 is a token, not what fills up.
        ends: the smallest and the largest input.
        drawn: whether those to test on are drawn.
    """

    shape: tuple[int, ...]
    classes: int
    train: int
    clients: int | None
    names: Sequence[str]
    vocabulary: int | None
    zero_between: bool
    ends: tuple[float, float]
    drawn: bool


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

    @decided_by_options
    def natural_clients(self) -> bool:
        """Whether it is said whose each sample is: by an option `client`."""
        return getattr(self, "client", None) is not None

    @decided_by_options
    def seeded(self) -> bool:
        """Whether test samples are drawn: nothing marks them."""
        return self._facts().drawn

    @decided_by_options
    def targets(self) -> Targets:
        """What is to be learned."""
        return self.learn

    @decided_by_options
    def tokens(self) -> bool:
        """Whether inputs are tokens."""
        return self.inputs_are == "tokens"

    @property
    @override
    def file_version(self) -> tuple[int, ...]:
        """When the source was changed, its size, and what the files in a folder tell of it."""
        seen = self.seen_from_outside
        return (*seen, tree_version(self.source())) if self.source().is_dir() else seen

    @property
    def seen_from_outside(self) -> tuple[int, ...]:
        """The same, as far as it can be seen at once: it is asked for many times.

        Raises:
            InputError: the source can't be read.
        """
        try:
            status = self.source().stat()
        except OSError as error:
            hint = similar_file(self.source()) if isinstance(error, FileNotFoundError) else ""
            raise InputError(f"can't read {self.source()}: {error.strerror}{hint}") from None
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            raise InputError(f"can't read {self.source()}: it is a pipe, expected a file")
        return status.st_mtime_ns, status.st_size

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
    def names_known(self) -> Sequence[str]:
        return self._facts().names

    @property
    @override
    def vocabulary_known(self) -> int | None:
        return self._facts().vocabulary

    @property
    @override
    def zero_is_token(self) -> bool:
        return self._facts().zero_between

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest input, before anything is normalised."""
        return self._facts().ends

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        facts = self._facts()
        return facts.shape, facts.classes

    def _facts(self, rows: Rows | None = None) -> _Facts:
        """Return what is known of the source; anew, if its `rows` were just read."""
        seen, file = self.seen_from_outside, str(self.source().resolve())
        key = (self.name, file, *seen, self.model_dump_json())
        if rows is not None or key not in _KNOWN:
            _KNOWN[key] = self._facts_of(rows or self.rows())
        return _KNOWN[key]

    def _facts_of(self, rows: Rows) -> _Facts:
        """Return what is known of the source that holds some `rows`.

        Raises:
            InputError: nothing can be learned from them.
        """
        if 0 in rows.x.shape[1:]:
            raise InputError(f"{self.source()}: an input has no numbers to learn from")
        rows.require_finite(self.source(), FLOAT32 if self.normalise == "none" else FLOAT64)
        drawn = rows.test is None and self.test_share > 0
        test = np.zeros(len(rows.label), np.bool_) if rows.test is None else rows.test
        n = int((~test).sum())
        train = n - self._for_testing(n) if drawn else n
        _, classes = as_targets(rows, self.learn, self.source())
        vocabulary, zero = None, False
        if self.tokens:
            tokens = as_tokens(rows.x, self.source())
            vocabulary, zero = int(tokens.max(initial=-1)) + 1, zero_between(tokens)
        names = () if rows.client is None else _as_text(np.unique(rows.client[~test]))
        clients = None if drawn or rows.client is None else len(names)
        ends = float(rows.x.min()), float(rows.x.max())
        named = tuple(map(str, names))
        return _Facts(
            rows.x.shape[1:], classes, train, clients, named, vocabulary, zero, ends, drawn
        )

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        """Read, split and normalise; the test part is drawn from ``("data", "test")``."""
        rows = self.rows()
        self._facts(rows)  # of a folder's files it can't be seen from outside that they changed
        y, classes = as_targets(rows, self.learn, self.source())
        test = rows.test
        if test is None:
            test = np.zeros(len(y), dtype=np.bool_)
            drawn = seeds.stream("data", "test").permutation(len(y))
            test[drawn[: self._for_testing(len(y))]] = True
        x = standardised(rows.x, ~test) if self.normalise == "standard" else self._inputs(rows)
        samples = Samples(x[~test], y[~test]), Samples(x[test], y[test])
        if rows.client is None:
            return Corpus(*samples, classes)
        owners = rows.client[~test]
        names = np.unique(owners)
        tested = _rows_of(names, rows.client[test]) if rows.test_owned else None
        return Corpus(*samples, classes, _rows_of(names, owners), tested, _as_text(names))

    def _for_testing(self, n: int) -> int:
        """Return how many of `n` samples are drawn to be tested on."""
        return round(n * self.test_share)

    def _inputs(self, rows: Rows) -> NDArray[Any]:
        """Return `(n, ...)` inputs as they are trained on."""
        if self.tokens:
            return as_tokens(rows.x, self.source())
        return rows.x.astype(np.float32, copy=False)


def _as_text(names: NDArray[Any]) -> NDArray[np.str_]:
    """Return `names` as their user wrote them: columns of numbers have 3 as 3.0."""
    whole = names.dtype.kind == "f" and bool((names == np.rint(names)).all())
    return np.array([str(int(name) if whole else name) for name in names])


def _rows_of(names: NDArray[Any], owners: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return for each of `names`, ascending, the rows `(m,)` that are its; `owners` is `(n,)`."""
    order = np.argsort(owners, kind="stable")
    first, last = (np.searchsorted(owners[order], names, side) for side in ("left", "right"))
    return [order[low:high] for low, high in zip(first, last, strict=True)]
