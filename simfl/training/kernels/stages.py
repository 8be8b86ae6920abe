"""Which modules are, or end in, stacks of fully connected layers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray
from torch import nn

from simfl.training.flat import is_frozen
from simfl.training.kernels.lanes import row_multiple

ELEMENTWISE = {nn.ReLU: 1, nn.Sigmoid: 2, nn.Tanh: 3, nn.Dropout: 4}
"""Layers between linear ones -> their number in network.h."""


@dataclass(frozen=True)
class Stage:
    """One linear layer, by the names of its parameters, and the elementwise layers after it."""

    weight: str
    bias: str | None
    inputs: int
    outputs: int
    after: tuple[nn.Module, ...] = ()

    @property
    def padded_outputs(self) -> int:
        """How many outputs make each lane's weight begin at a multiple of 64 bytes."""
        multiple = row_multiple(self.inputs)
        return -(-self.outputs // multiple) * multiple


def stages_of(module: nn.Module, shape: tuple[int, ...]) -> list[Stage] | None:
    """Return the stages of a stack of linear and elementwise layers; None: it is no such stack.

    Nor is one that is not trained as a whole.
    """
    layers = leaves(module)
    if flattens_first(layers):
        layers = layers[1:]
    elif len(shape) != 1:
        return None
    stages = stacked(layers, prod(shape))
    # A product with a single column is the one shape whose bits depend on more than alignment.
    single = any(min(stage.inputs, stage.outputs) == 1 for stage in stages or ())
    if stages is None or single or is_frozen(module) or shares_weights(module, len(stages)):
        return None
    return stages


def stacked(layers: Sequence[tuple[str, nn.Module]], inputs: int) -> list[Stage] | None:
    """Return the stages that `layers` are, given rows of so many `inputs`; None: they are none."""
    stages: list[Stage] = []
    for name, layer in layers:
        if type(layer) is nn.Linear and layer.in_features == inputs:
            bias = None if layer.bias is None else f"{name}bias"
            stages.append(Stage(f"{name}weight", bias, inputs, layer.out_features))
            inputs = layer.out_features
        elif type(layer) is nn.Dropout and layer.p == 0:
            continue
        elif type(layer) in ELEMENTWISE and stages:
            stages[-1] = replace(stages[-1], after=(*stages[-1].after, layer))
        else:
            return None
    return stages or None


def shares_weights(module: nn.Module, layers: int) -> bool:
    """Return whether some of the `layers` of `module` have the same weights."""
    return sum(parameter.dim() > 1 for parameter in module.parameters()) < layers


def dropouts(stages: Sequence[Stage]) -> list[tuple[int, float]]:
    """Return the width of each dropout layer in its turn, and what share it drops."""
    layers = ((stage.outputs, layer) for stage in stages for layer in stage.after)
    return [(outputs, layer.p) for outputs, layer in layers if isinstance(layer, nn.Dropout)]


def make_factors(numbers: NDArray[np.float32], layers: Iterable[tuple[int, float]]) -> None:
    """Turn uniform `numbers` `(s, columns)` into what dropout multiplies by, in place.

    Args:
        numbers: in [0, 1).
        layers: how many columns are each layer's, and what share it drops.
    """
    first = 0
    for columns, p in layers:
        part = numbers[:, first : first + columns]
        part[...] = (part >= p) / np.float32(1 - p) if p < 1 else 0.0
        first += columns


def leaves(module: nn.Module, prefix: str = "") -> list[tuple[str, nn.Module]]:
    """Return the layers of nested sequences, each with the prefix of its parameters' names.

    What is no sequence is a layer by itself; hooks (such as weight norm) are more than any layers.
    """
    if has_hooks(module):
        return []
    if not is_sequence(module):
        return [("", module)]
    layers: list[tuple[str, nn.Module]] = []
    for name, layer in module._modules.items():  # `named_children` leaves out repeated layers
        if layer is None or type(layer) is nn.Identity:
            continue
        if type(layer) is nn.Sequential:
            layers += leaves(layer, f"{prefix}{name}.")
        else:
            layers.append((f"{prefix}{name}.", layer))
    return layers


def has_hooks(module: nn.Module) -> bool:
    """Return whether `module`, or a part of it, does something before or after its `forward`."""
    return any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def flattens_first(layers: Sequence[tuple[str, nn.Module]]) -> bool:
    """Return whether `layers` begin with what makes a row of all numbers of an input."""
    return bool(layers) and type(first := layers[0][1]) is nn.Flatten and first.start_dim == 1


def is_sequence(module: nn.Module) -> TypeGuard[nn.Sequential]:
    """Return whether `module` calls its layers one after the other, and does nothing else."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward
