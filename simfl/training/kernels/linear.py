"""Fully connected stacks: hand-written forward and backward over lanes.

Autograd's bookkeeping costs more than the arithmetic of a small layer, so the few products are
written out: per layer one `baddbmm` forward and two backward, for all lanes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from typing_extensions import override

from simfl.components.losses.base import Loss
from simfl.training.flat import Layout
from simfl.training.kernels.elementwise import Pair, Undo, apply, undo_all
from simfl.training.kernels.lanes import Lanes, row_multiple
from simfl.training.kernels.objectives import Objective, RowGradient, RowObjective, SoftmaxObjective
from simfl.training.kernels.padded_layers import PaddedLayers
from simfl.training.kernels.stacked import StackedKernel
from simfl.training.kernels.stages import Stage, dropouts, make_factors
from simfl.training.kernels.workspace import Step, Workspace


class LinearKernel(StackedKernel):
    """Stacks of `Linear`, `ReLU`, `Sigmoid`, `Tanh`, `Dropout`; a `Flatten` may come first."""

    def __init__(self, layout: Layout, stages: list[Stage]) -> None:
        super().__init__(layout.size, stages[-1].outputs)
        self.layout = layout
        self.stages = stages
        self.dropouts = dropouts(stages)

    @override
    def inputs(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1).to(torch.float32)

    @override
    def row_multiple(self) -> int:
        """Every matrix of a lane begins at a full 64 bytes."""
        columns = [self.stages[0].inputs, *(stage.outputs for stage in self.stages)]
        return max(row_multiple(n) for n in columns)

    @override
    def workspace(self, start: Sequence[torch.Tensor], width: int, loss: Loss) -> Workspace:
        return _LinearWorkspace(self, start, width, loss)

    @override
    def objective(self, loss: Loss, batches: int, width: int, device: torch.device) -> Objective:
        """Cross-entropy is written out by hand."""
        if loss.softmax:
            return SoftmaxObjective(batches, width, self.classes, device)
        return RowObjective(batches, width, device)

    @override
    def draw_masks(self, rng: np.random.Generator, steps: int, width: int) -> NDArray[np.float32]:
        numbers = rng.random((steps, width * sum(n for n, _ in self.dropouts)), dtype=np.float32)
        make_factors(numbers, ((width * outputs, p) for outputs, p in self.dropouts))
        return numbers


class _LinearWorkspace(Workspace):
    """Everything lies layer by layer, one lane's matrix behind the other's.

    Weights, gradients and `delta` are padded, see `PaddedLayers`.
    """

    def __init__(
        self, kernel: LinearKernel, start: Sequence[torch.Tensor], width: int, loss: Loss
    ) -> None:
        self._kernel, self._width = kernel, width
        lanes, device, stages = len(start), start[0].device, kernel.stages
        self.masks = sum(outputs for outputs, _ in kernel.dropouts)
        self._layout = layout = PaddedLayers(kernel.layout, stages)
        self._weights, self._biases = layout.storage(start)
        self.params = layout.parts(self._weights, self._biases)
        self._outputs = [Lanes(lanes, width, s.outputs, device) for s in stages]
        self._below = [Lanes(lanes, width, s.outputs, device) for s in stages]
        self._deltas = [Lanes(lanes, width, columns, device) for columns in layout.outputs]
        self._factors = torch.empty(lanes, width, 1, device=device)
        self._loss = None
        if not loss.softmax:
            self._loss = RowGradient(loss, lanes, width, kernel.classes, device)
        self._gradient_storage: tuple[list[torch.Tensor], list[torch.Tensor]] | None = None
        # A sigmoid's or tanh's output can't overflow `exp`: no need to look for the largest.
        last = stages[-1].after[-1:]
        self._bounded = bool(last) and isinstance(last[0], nn.Sigmoid | nn.Tanh)
        self.narrow(lanes)

    def load(self, models: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return self._layout.parts(*self._layout.storage(models))

    def result(self) -> list[torch.Tensor]:
        return self._layout.models(self.params)

    def narrow(self, lanes: int) -> None:
        self._lanes = lanes
        self._layers = []
        for i, stage in enumerate(self._kernel.stages):
            weight = self._weights[i][:lanes]
            delta = self._deltas[i].every[:lanes]
            layer = _Layer(
                weight,
                weight[:, : stage.outputs].transpose(1, 2),
                None if stage.bias is None else self._biases[i][:lanes],
                None if stage.bias is None else self._biases[i][:lanes, None, : stage.outputs],
                Pair(*self._outputs[i].take(0, lanes)),
                Pair(*self._below[i].take(0, lanes)),
                delta,
                delta[:, :, : stage.outputs],
                delta.transpose(1, 2),
            )
            self._layers.append(layer)
        self._factor = self._factors[:lanes]
        if self._gradient_storage is not None:
            self._narrow_gradients()

    def compute(self, step: Step) -> Sequence[torch.Tensor]:
        if self._gradient_storage is None:
            storage = [torch.zeros_like(part) for part in self._weights]
            self._gradient_storage = storage, [torch.zeros_like(part) for part in self._biases]
            self._narrow_gradients()
        for i, below in self._backward(step):
            layer = self._layers[i]
            torch.bmm(layer.delta_transposed, below, out=self._weight_gradients[i])
            if layer.bias is not None:
                torch.sum(layer.padded_delta, 1, out=self._bias_gradients[i])
        return self._gradients

    def fused(self, step: Step) -> None:
        for i, below in self._backward(step):
            layer = self._layers[i]
            layer.weight.baddbmm_(layer.delta_transposed, below)
            if layer.bias is not None:
                layer.bias.add_(layer.padded_delta.sum(1))

    def _backward(self, step: Step) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield each layer, the last first, and its input, once its `delta` is ready.

        When a layer is yielded its weight is no longer needed and may be changed.
        """
        stages, layers, sites = self._kernel.stages, self._layers, self._mask_sites(step.masks)
        activation, activations, undo = step.x, [step.x], []
        for stage, layer in zip(stages, layers, strict=True):
            output = layer.output
            if layer.bias_row is None:
                torch.bmm(activation, layer.transposed, out=output.matrix)
            else:
                torch.baddbmm(layer.bias_row, activation, layer.transposed, out=output.matrix)
            applied: Undo = []
            if stage.after:
                output, applied = apply(stage.after, output, sites)
            activation = output.matrix
            activations.append(activation)
            undo.append(applied)
        into = layers[-1].below.matrix if undo[-1] else layers[-1].delta
        self._loss_gradient(output, step, into)
        for i in range(len(stages) - 1, -1, -1):
            layer = layers[i]
            if undo[i]:
                undo_all(undo[i], layer.below.matrix, layer.delta)
            if i:
                # Without an elementwise layer between, this is the next delta already.
                below = layers[i - 1].below.matrix if undo[i - 1] else layers[i - 1].delta
                torch.bmm(layer.padded_delta, layer.weight, out=below)
            yield i, activations[i]

    def _loss_gradient(self, output: Pair, step: Step, into: torch.Tensor) -> None:
        """Write the gradient of the weighted mean loss; for cross-entropy w (softmax - one-hot)."""
        if self._loss is not None:
            losses, gradient = self._loss(output.matrix, step.targets, step.weights)
            step.record[0].copy_(losses)
            into.copy_(gradient)
            return
        logits, sums, shifts = step.record
        logits.copy_(output.matrix)
        exp = self._layers[-1].below
        if self._bounded:
            torch.exp(output.whole, out=exp.whole)
        else:
            torch.amax(logits, 2, keepdim=True, out=shifts)
            torch.sub(logits, shifts, out=exp.matrix)
            exp.whole.exp_()
        torch.sum(exp.matrix, 2, keepdim=True, out=sums)
        torch.div(step.weights, sums, out=self._factor)
        exp.matrix.mul_(self._factor)
        torch.sub(exp.matrix, step.targets, out=into)

    def _narrow_gradients(self) -> None:
        assert self._gradient_storage is not None
        weights, biases = self._gradient_storage
        self._weight_gradients = [part[: self._lanes] for part in weights]
        self._bias_gradients = [part[: self._lanes] for part in biases]
        self._gradients = self._layout.parts(self._weight_gradients, self._bias_gradients)

    def _mask_sites(self, masks: torch.Tensor | None) -> list[torch.Tensor]:
        if masks is None:
            return []
        ends = np.cumsum([0, *(self._width * n for n, _ in self._kernel.dropouts)])
        return [
            masks[:, a:b].view(masks.shape[0], self._width, -1) for a, b in pairwise(ends.tolist())
        ]


@dataclass(frozen=True, slots=True)
class _Layer:
    """Views of one layer's buffers for the lanes that still run; `_row` for broadcasting."""

    weight: torch.Tensor
    transposed: torch.Tensor
    bias: torch.Tensor | None
    bias_row: torch.Tensor | None
    output: Pair
    below: Pair
    padded_delta: torch.Tensor
    delta: torch.Tensor
    delta_transposed: torch.Tensor
