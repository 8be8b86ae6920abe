"""Client data that exist only while a cohort trains: memory bounded by the cohort."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from typing_extensions import override

from simfl.components.datasets.base import LazyCorpus
from simfl.core.types import Ids
from simfl.training.data import ClientData, Cohort


@dataclass(frozen=True)
class Generated(ClientData):
    """The clients of a `LazyCorpus` as tensors.  Nothing is kept from one call to the next."""

    corpus: LazyCorpus

    @property
    @override
    def sizes(self) -> Ids:
        return self.corpus.sizes

    @override
    def training(self, clients: Sequence[int]) -> Cohort:
        parts = [self.corpus.client(client) for client in clients]
        ends = np.cumsum([len(part) for part in parts])
        rows = [np.arange(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
        return Cohort(
            torch.from_numpy(np.concatenate([part.x for part in parts])),
            torch.from_numpy(np.concatenate([part.y for part in parts])),
            rows,
        )

    @override
    def validation(self, clients: Sequence[int]) -> Cohort:
        """These clients keep no validation part."""
        return self.training(clients)
