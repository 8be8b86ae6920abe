"""Fully connected stacks: hand-written forward and backward over lanes.

Autograd's bookkeeping costs more than the arithmetic of a small layer, so the few products are
written out: per layer one `baddbmm` forward and two or three `bmm` backward, for all lanes.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from simfl.learning.flat import Layout
from simfl.learning.kernels.stacked import StackedKernel, Workspace, aligned_lanes

_OPS = torch.ops.aten
ELEMENTWISE = (nn.ReLU, nn.Sigmoid, nn.Tanh, nn.Dropout)


@dataclass(frozen=True)
class Stage:
    """One linear layer and the elementwise layers after it."""

    weight: str
    bias: str | None
    inputs: int
    outputs: int
    after: tuple[nn.Module, ...]


def stages_of(module: nn.Module, shape: tuple[int, ...]) -> list[Stage] | None:
    """Return the stages of a stack of linear and elementwise layers; None: it is no such stack."""
    if isinstance(module, nn.Linear):
        module = nn.Sequential(module)
    if not isinstance(module, nn.Sequential):
        return None
    layers = [(name, layer) for name, layer in _leaves(module) if type(layer) is not nn.Identity]
    if layers and isinstance(layers[0][1], nn.Flatten) and layers[0][1].start_dim == 1:
        layers = layers[1:]
    elif len(shape) != 1:
        return None
    stages: list[Stage] = []
    for name, layer in layers:
        if type(layer) is nn.Linear:
            bias = None if layer.bias is None else f"{name}bias"
            stages.append(Stage(f"{name}weight", bias, layer.in_features, layer.out_features, ()))
        elif type(layer) in ELEMENTWISE and stages:
            last = stages.pop()
            after = (*last.after, layer)
            stages.append(Stage(last.weight, last.bias, last.inputs, last.outputs, after))
        else:
            return None
    weights = [layer.weight for _, layer in layers if isinstance(layer, nn.Linear)]
    shared = len({id(weight) for weight in weights}) < len(stages)
    # A product with a single column is the one shape whose bits depend on more than alignment.
    single = any(min(stage.inputs, stage.outputs) == 1 for stage in stages)
    return None if shared or single or not stages else stages


def _leaves(module: nn.Sequential, prefix: str = "") -> list[tuple[str, nn.Module]]:
    found: list[tuple[str, nn.Module]] = []
    for name, layer in module._modules.items():  # `named_children` leaves out repeated layers
        if layer is None:
            continue
        if type(layer) is nn.Sequential:
            found += _leaves(layer, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}.", layer))
    return found


class LinearKernel(StackedKernel):
    """Stacks of `Linear`, `ReLU`, `Sigmoid`, `Tanh`, `Dropout`; a `Flatten` may come first."""

    def __init__(self, layout: Layout, stages: list[Stage]) -> None:
        super().__init__(layout.size, stages[-1].outputs)
        self.layout = layout
        self.stages = stages
        self.dropouts = [
            (stage.outputs, layer.p)
            for stage in stages
            for layer in stage.after
            if isinstance(layer, nn.Dropout) and layer.p > 0
        ]

    def inputs(self, x: torch.Tensor) -> torch.Tensor:
        """See `StackedKernel.inputs`."""
        return x.flatten(1).to(torch.float32)

    def row_multiple(self, x: torch.Tensor) -> int:
        """See `StackedKernel.row_multiple`: each lane's inputs begin at a multiple of 64 bytes."""
        return 16 // gcd(16, x.shape[1])

    def workspace(self, params: torch.Tensor, gradient: torch.Tensor, width: int) -> Workspace:
        """See `StackedKernel.workspace`."""
        return _LinearWorkspace(self, params, gradient, width)

    def draw_masks(self, rng: np.random.Generator, steps: int, width: int) -> NDArray[np.float32]:
        """See `StackedKernel.draw_masks`."""
        numbers = rng.random((steps, width * sum(n for n, _ in self.dropouts)), dtype=np.float32)
        first = 0
        for outputs, p in self.dropouts:
            part = numbers[:, first : first + width * outputs]
            keep = part >= p
            part[...] = keep / np.float32(1 - p) if p < 1 else 0.0
            first += width * outputs
        return numbers


class _LinearWorkspace(Workspace):
    def __init__(
        self, kernel: LinearKernel, params: torch.Tensor, gradient: torch.Tensor, width: int
    ) -> None:
        self._kernel = kernel
        self._width = width
        self._params = params
        self._gradient = gradient
        self.masks = sum(outputs for outputs, _ in kernel.dropouts)
        self._ones = torch.ones(len(params), 1, width, device=params.device)
        self._lanes = -1

    def _narrow(self, lanes: int) -> None:
        """Take views of the first `lanes` lanes; done again only when some have finished."""
        if lanes == self._lanes:
            return
        kernel, width, self._lanes = self._kernel, self._width, lanes
        params = kernel.layout.views(self._params[:lanes])
        gradient = kernel.layout.views(self._gradient[:lanes])
        self._weights = [params[stage.weight] for stage in kernel.stages]
        self._transposed = [weight.transpose(1, 2) for weight in self._weights]
        self._biases = [
            None if stage.bias is None else params[stage.bias].unsqueeze(1)
            for stage in kernel.stages
        ]
        self._weight_gradients = [gradient[stage.weight] for stage in kernel.stages]
        self._bias_gradients = [
            None if stage.bias is None else gradient[stage.bias].unsqueeze(1)
            for stage in kernel.stages
        ]
        self._outputs = [_Lanes.zeros(self._params, lanes, width, s.outputs) for s in kernel.stages]
        self._deltas = [_Lanes.zeros(self._params, lanes, width, s.outputs) for s in kernel.stages]
        self._one = self._ones[:lanes]

    def gradients(
        self,
        x: torch.Tensor,
        targets: torch.Tensor,
        weights: torch.Tensor,
        masks: torch.Tensor | None,
    ) -> torch.Tensor:
        self._narrow(len(x))
        stages = self._kernel.stages
        sites = self._mask_sites(masks)
        activation, activations, undo = x, [x], []
        for i, stage in enumerate(stages):
            output, bias = self._outputs[i], self._biases[i]
            if bias is None:
                torch.bmm(activation, self._transposed[i], out=output.matrix)
            else:
                torch.baddbmm(bias, activation, self._transposed[i], out=output.matrix)
            output, steps = _apply(stage.after, output, sites)
            activation = output.matrix
            activations.append(activation)
            undo.append(steps)
        # d loss / d logits of the weighted mean cross-entropy: w (softmax - one-hot).
        delta = self._deltas[-1]
        torch.mul(torch.softmax(activation, 2), weights, out=delta.matrix).sub_(targets)
        for i in range(len(stages) - 1, -1, -1):
            _undo(undo[i], delta)
            torch.bmm(delta.matrix.transpose(1, 2), activations[i], out=self._weight_gradients[i])
            if (bias_gradient := self._bias_gradients[i]) is not None:
                # A product, not a sum: the order of a reduction may change with the lanes.
                torch.bmm(self._one, delta.matrix, out=bias_gradient)
            if i:
                below = self._deltas[i - 1]
                torch.bmm(delta.matrix, self._weights[i], out=below.matrix)
                delta = below
        return activation

    def _mask_sites(self, masks: torch.Tensor | None) -> list[torch.Tensor]:
        if masks is None:
            return []
        ends = np.cumsum([0, *(self._width * n for n, _ in self._kernel.dropouts)])
        return [masks[:, a:b].view(len(masks), self._width, -1) for a, b in pairwise(ends.tolist())]


@dataclass(frozen=True, slots=True)
class _Lanes:
    """A matrix for each lane, and the aligned memory it lies in."""

    whole: torch.Tensor
    matrix: torch.Tensor

    @classmethod
    def zeros(cls, like: torch.Tensor, lanes: int, rows: int, columns: int) -> "_Lanes":
        return cls(*aligned_lanes(lanes, rows, columns, like.device))

    def copy(self) -> "_Lanes":
        copy = _Lanes.zeros(self.whole, *self.matrix.shape)
        copy.whole.copy_(self.whole)
        return copy


_Undo = list[tuple[nn.Module, torch.Tensor]]


def _apply(
    layers: tuple[nn.Module, ...], z: _Lanes, sites: list[torch.Tensor]
) -> tuple[_Lanes, _Undo]:
    """Run elementwise `layers` on `z`, in place where the backward pass allows."""
    undo: _Undo = []
    for layer in layers:
        saved = any(not isinstance(former, nn.Dropout) for former, _ in undo)
        if saved and not (isinstance(undo[-1][0], nn.ReLU) and isinstance(layer, nn.Dropout)):
            z = z.copy()  # the backward pass needs the output of the layer before as it is
        if isinstance(layer, nn.Dropout):
            if layer.p:
                mask = sites.pop(0)
                z.matrix.mul_(mask)
                undo.append((layer, mask))
            continue
        if isinstance(layer, nn.ReLU):
            z.whole.relu_()
        elif isinstance(layer, nn.Sigmoid):
            z.whole.sigmoid_()
        else:
            z.whole.tanh_()
        undo.append((layer, z.whole))
    return z, undo


def _undo(applied: _Undo, delta: _Lanes) -> None:
    """Replace the gradient with respect to the layers' output by that to their input."""
    for layer, saved in reversed(applied):
        if isinstance(layer, nn.Dropout):
            delta.matrix.mul_(saved)
        elif isinstance(layer, nn.ReLU):
            _OPS.threshold_backward.grad_input(delta.whole, saved, 0, grad_input=delta.whole)
        elif isinstance(layer, nn.Sigmoid):
            _OPS.sigmoid_backward.grad_input(delta.whole, saved, grad_input=delta.whole)
        else:
            _OPS.tanh_backward.grad_input(delta.whole, saved, grad_input=delta.whole)
