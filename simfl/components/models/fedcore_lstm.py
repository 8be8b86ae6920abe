"""FedCore's model of Shakespeare's characters, as FedML's (docs/algorithms.md, E)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.shapes import mismatch
from simfl.core.circumstances import Circumstances
from simfl.errors import InputError

if TYPE_CHECKING:
    from torch import nn


@models.register("fedcore_lstm")
class FedcoreLstm(Model):
    """Embedding (8), two LSTM layers (256), one linear layer; 822,570 parameters for 90 characters.

    Only what the last layer says after the last character is used.
    """

    embedding: int = Field(8, ge=1, description="numbers per character")
    hidden: int = Field(256, ge=1, description="units of each LSTM layer")
    layers: int = Field(2, ge=1, description="LSTM layers")
    padding: int | None = Field(
        0,
        ge=0,
        description="token whose embedding is fixed at zero; 0 fits `vocabulary: fedcore`, null "
        "fits `leaf`, where 0 is a character",
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        classes = circumstances.classes
        self._check(circumstances.shape, classes)
        if circumstances.tokens is False:
            yield (
                f"model {self.name!r} takes tokens, not measurements, so it can't be trained on "
                f"data set {circumstances.dataset!r}"
            )
        elif circumstances.vocabulary is not None and circumstances.vocabulary > classes:
            yield (
                f"model {self.name!r} takes tokens below the number of classes, {classes}, but "
                f"data set {circumstances.dataset!r} has a token {circumstances.vocabulary - 1}"
            )

    def _check(self, shape: tuple[int, ...], classes: int) -> None:
        if len(shape) != 1 or shape[0] < 1:
            raise mismatch(self.name, "(length,), which are tokens", shape)
        if self.padding is not None and self.padding >= classes:
            raise InputError(
                f"model {self.name!r} takes tokens below the number of classes, {classes}, so "
                f"`padding` can't be {self.padding}"
            )

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        from simfl.components.models.modules.last_output import LastOutput

        self._check(shape, classes)
        return nn.Sequential(
            nn.Embedding(classes, self.embedding, padding_idx=self.padding),
            LastOutput(self.embedding, self.hidden, self.layers),
            nn.Linear(self.hidden, classes),
        )
