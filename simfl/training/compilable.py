"""What the compiled kernel can run, as far as that is known without PyTorch."""

from collections.abc import Sequence

from simfl.components.local_training import LocalTraining
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.adamw import AdamW
from simfl.components.optimizers.base import Optimizer
from simfl.components.optimizers.sgd import Sgd

MOST_LAYERS, MOST_AFTER = 16, 4
"""Of each kind, and elementwise ones after one of them (native/network.h)."""
MOST_WEIGHTS = 2**21
"""Of one linear layer: turning larger ones for the way back costs more than it saves."""
OPTIMIZERS: dict[type[Optimizer], int] = {Sgd: 0, Adam: 1, AdamW: 2}
"""Optimizer -> its number in native/network.h."""


def linear_layers_fit(weights: Sequence[int]) -> bool:
    """Return whether there is room for linear layers, one at least, of so many weights each."""
    return len(weights) <= MOST_LAYERS and max(weights) <= MOST_WEIGHTS


def is_compilable(training: LocalTraining) -> bool:
    """Return whether the library has the optimizer and the loss of `training`.

    It trains all parameters in each step.
    """
    known = type(training.optimizer) in OPTIMIZERS and type(training.loss) is CrossEntropy
    return known and training.personal_epochs is None
