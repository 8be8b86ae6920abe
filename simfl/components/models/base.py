"""The seam of models: options -> a fresh `torch.nn.Module`, torch imported only then."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.registry import Component, Registry

if TYPE_CHECKING:
    from torch import nn


class Model(Component, ABC):
    """An architecture.

    A model with buffers (BatchNorm) is refused: the flat parameter vector is the whole model.
    """

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        model = circumstances.architecture if circumstances.tokens else None
        if model is not None and not model.tokens:
            yield (
                f"model {self.name!r} takes no tokens, so it can't be trained on data set "
                f"{circumstances.dataset!r}"
            )

    @abstractmethod
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        """Return the module for inputs of `shape` (without the batch) and `classes` outputs.

        Parameters are set by PyTorch's default initialisation under whatever generator state the
        caller has forked; the forward pass maps `(n, *shape)` to logits `(n, classes)`.

        Raises:
            InputError: the shape does not fit.
        """


models: Registry[Model] = Registry("model", "simfl.components.models")
