"""A model that simfl never sees: of clients that another program trains."""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.components.models.base import Model
from simfl.errors import InputError

if TYPE_CHECKING:
    from torch import nn


class Elsewhere(Model):
    """What clients train is their own affair; only how many bytes it has is known."""

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        raise InputError("the model is that of another program's clients; run it from Python")
