"""Data that simfl never sees: of clients that another program trains."""

from pathlib import Path

from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset
from simfl.core.seeds import Seeds
from simfl.errors import InputError


class Elsewhere(Dataset):
    """What clients learn from is their own affair; only how many samples each has is known."""

    natural_clients = True

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (1,), 1

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        raise InputError("the data are those of another program's clients; run it from Python")
