"""Clients' data made on demand: fleets whose samples would never fit in memory.

The truth is one linear model for all, the inputs differ from client to client; sizes are log-normal
as in FedProx's Synthetic (Li et al., arXiv:1812.06127, section 5.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import OnDemand, Samples
from simfl.core.circumstances import Circumstances
from simfl.core.machine.memory import require_memory
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids, Rng
from simfl.core.words import numbered
from simfl.errors import InputError


@datasets.register("generated")
class Generated(Dataset):
    """One linear truth, inputs shifted per client; a client's samples exist only while it trains.

    Deals its own clients (``partition: natural``), as many as the fleet has devices.  Time: O(1)
    per client for its size, O(samples * features) when it trains.
    """

    tokens = False
    natural_clients = True

    features: int = Field(60, ge=1, description="numbers per sample")
    classes: int = Field(10, ge=2, description="number of classes")
    mean_samples: float = Field(
        69, gt=0, description="mean samples per client, before rounding and the two bounds"
    )
    spread: float = Field(
        1.0, ge=0, le=100, description="standard deviation of the logarithm of a client's samples"
    )
    min_samples: int = Field(1, ge=1, description="least samples of a client")
    max_samples: int = Field(1000, ge=1, description="most samples of a client")
    shift: float = Field(
        1.0, ge=0, description="standard deviation of a client's mean input; 0: clients are iid"
    )
    noise: float = Field(
        0.2,
        ge=0,
        description="standard deviation of the noise added to each class's score, relative to "
        "that of the score within a client",
    )
    test_samples: int = Field(2000, ge=1, description="test samples, each of a client of its own")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_samples > self.max_samples:
            raise ValueError(
                f"min_samples ({self.min_samples}) must be at most max_samples ({self.max_samples})"
            )
        return self

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.partition != "natural":
            yield (
                f"data set {self.name!r} makes each client's own samples; its partition is "
                f"natural, not {circumstances.partition!r}"
            )

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (self.features,), self.classes

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        raise InputError(
            "data set 'generated' makes each client's data on demand: it deals its own clients "
            "(`partition: natural`) and has no samples that another partition could deal"
        )

    @override
    def lazy(self, clients: int, seeds: Seeds) -> "GeneratedClients":
        return GeneratedClients(self, clients, seeds)


@dataclass(frozen=True)
class GeneratedClients(OnDemand):
    """What `Generated` gives to a fleet."""

    options: Generated
    clients: int
    seeds: Seeds

    def __reduce__(self) -> tuple[type, tuple[Generated, int, Seeds]]:
        """Send workers the recipe, not the numbers already made from it."""
        return type(self), (self.options, self.clients, self.seeds)

    @cached_property
    @override
    def sizes(self) -> Ids:
        from scipy.special import ndtri

        options = self.options
        uniform = self.seeds.uniforms(("data", "sizes"), np.arange(self.clients), 0)
        middle = np.log(options.mean_samples) - options.spread**2 / 2  # a log-normal's mean
        drawn = np.rint(np.exp(middle + options.spread * ndtri(uniform)))
        bounded: Ids = drawn.clip(options.min_samples, options.max_samples).astype(np.int64)
        return bounded

    @cached_property
    def _truth(self) -> Floats:
        features, classes = self.options.features, self.options.classes
        what = f"data set {self.options.name!r} with {features:,} features of {classes:,} classes"
        require_memory(8 * features * classes, what)
        return self.seeds.stream("data", "truth").standard_normal((features, classes))

    @cached_property
    @override
    def test(self) -> Samples:
        rng = self.seeds.stream("data", "test")
        n = self.options.test_samples
        self._require_room(n, "test sample")
        return self._draw(n, rng.standard_normal((n, self.options.features)), rng)

    @override
    def client(self, client: int) -> Samples:
        rng = self.seeds.stream("data", "client", client)
        n = int(self.sizes[client])
        self._require_room(n, "sample")
        return self._draw(n, rng.standard_normal(self.options.features), rng)

    def _require_room(self, n: int, noun: str) -> None:
        """Raise an error if so many samples, which are called so, can't be made in memory.

        Raises:
            InputError: they are.
        """
        features, classes = self.options.features, self.options.classes
        each = 12 * features + 16 * classes + 8  # in both precisions; scores and noise; the label
        made = f"{numbered(n, noun)} of {features:,} features and {classes:,} classes at once"
        require_memory(n * each, f"data set {self.options.name!r} with {made}")

    def _draw(self, n: int, centre: Floats, rng: Rng) -> Samples:
        options = self.options
        x = rng.standard_normal((n, options.features)) + options.shift * centre
        noise = (
            options.noise * np.sqrt(options.features) * rng.standard_normal((n, options.classes))
        )
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is told of
            return Samples(x.astype(np.float32), np.argmax(x @ self._truth + noise, axis=1))
