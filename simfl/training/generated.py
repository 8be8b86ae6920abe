"""Client data that exist only while a cohort trains: memory bounded by the cohort."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from simfl.components.datasets.base import LazyCorpus
from simfl.core.work import Ids
from simfl.training.data import Cohort


@dataclass(frozen=True)
class Generated:
    """The clients of a `LazyCorpus` as tensors.  Nothing is kept from one call to the next."""

    corpus: LazyCorpus

    @property
    def sizes(self) -> Ids:
        """See `ClientData.sizes`."""
        return self.corpus.sizes

    def training(self, clients: Sequence[int]) -> Cohort:
        """See `ClientData.training`."""
        parts = [self.corpus.client(client) for client in clients]
        ends = np.cumsum([len(part) for part in parts])
        rows = [np.arange(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
        return Cohort(
            torch.from_numpy(np.concatenate([part.x for part in parts])),
            torch.from_numpy(np.concatenate([part.y for part in parts])),
            rows,
        )

    def validation(self, clients: Sequence[int]) -> Cohort:
        """See `ClientData.validation`: these clients keep no validation part."""
        return self.training(clients)
