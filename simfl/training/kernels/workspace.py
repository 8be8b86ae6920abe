"""What lanes that run together work in: hand-written forward and backward over all of them.

Autograd's bookkeeping costs more than the arithmetic of a small layer, so the few products are
written out: per layer one `baddbmm` forward and two backward, for all lanes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import nn

from simfl.components.losses.base import Loss
from simfl.training.flat import Layout
from simfl.training.kernels.elementwise import Undo, apply, undo_all
from simfl.training.kernels.lanes import Lanes, Pair
from simfl.training.kernels.objectives import RowGradient
from simfl.training.kernels.padded_layers import PaddedLayers
from simfl.training.kernels.stages import Stage, dropouts


class Step(NamedTuple):
    """One SGD step of the `a` lanes that still run.

    Attributes:
        x: `(a, width, ...)` inputs.
        targets: `(a, width, ...)` what the outputs should be, as the objective has it.
        weights: `(a, width, 1)` weight of each row in its batch's loss.
        rates: `(a, 1)` learning rates.
        record: to be written, for the objective.
        masks: `(a, width * masks)` dropout factors; None: there is no dropout.
    """

    x: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    rates: torch.Tensor
    record: tuple[torch.Tensor, ...]
    masks: torch.Tensor | None


class Workspace:
    """Buffers of one chunk of lanes, and how to get their gradients.

    Everything lies layer by layer, one lane's matrix behind the other's.  Weights, gradients and
    `delta` are padded, see `PaddedLayers`.

    Args:
        layout: of the model's flat vector.
        stages: its layers.
        start: the models `(p,)` that lanes start at.
        width: rows of a batch.
        loss: what is minimised.

    Attributes:
        params: parts `(l, n_i)` of the models; the optimizer changes them in place.
        names: of the parts.
    """

    def __init__(
        self,
        layout: Layout,
        stages: Sequence[Stage],
        start: Sequence[torch.Tensor],
        width: int,
        loss: Loss,
    ) -> None:
        self._stages, self._width, lanes = stages, width, len(start)
        self._padded = padded = PaddedLayers(layout, stages)
        self._weights, self._biases = padded.storage(start)
        self.params, self.names = padded.parts(self._weights, self._biases), padded.names
        self._outputs = [Lanes(lanes, width, stage.outputs) for stage in stages]
        self._below = [Lanes(lanes, width, stage.outputs) for stage in stages]
        self._deltas = [Lanes(lanes, width, columns) for columns in padded.outputs]
        self._factors = torch.empty(lanes, width, 1)
        self._loss = None
        if not loss.softmax:
            self._loss = RowGradient(loss, lanes, width, stages[-1].outputs)
        ends = accumulate((width * outputs for outputs, _ in dropouts(stages)), initial=0)
        self._sites = list(pairwise(ends))
        """Where the factors of each dropout layer begin and end among those of a batch."""
        self._gradient_storage: tuple[list[torch.Tensor], list[torch.Tensor]] | None = None
        # A sigmoid's or tanh's output can't overflow `exp`: no need to look for the largest.
        last = stages[-1].after[-1:]
        self._bounded = bool(last) and isinstance(last[0], nn.Sigmoid | nn.Tanh)
        self.narrow(lanes)

    def load(self, models: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Return the parts `(l, n_i)` of models `(p,)`, copied into memory laid out like mine."""
        return self._padded.parts(*self._padded.storage(models))

    def result(self) -> list[torch.Tensor]:
        """Return the models `(p,)`."""
        return self._padded.models(self.params)

    def narrow(self, lanes: int) -> None:
        """Go on with the first `lanes` lanes only."""
        self._lanes = lanes
        self._layers = []
        for i, stage in enumerate(self._stages):
            weight = self._weights[i][:lanes]
            delta = self._deltas[i].every[:lanes]
            layer = _Layer(
                weight,
                weight[:, : stage.outputs].transpose(1, 2),
                None if stage.bias is None else self._biases[i][:lanes],
                None if stage.bias is None else self._biases[i][:lanes, None, : stage.outputs],
                self._outputs[i].take(lanes),
                self._below[i].take(lanes),
                delta,
                delta[:, :, : stage.outputs],
                delta.transpose(1, 2),
            )
            self._layers.append(layer)
        self._factor = self._factors[:lanes]
        if self._gradient_storage is not None:
            self._narrow_gradients()

    def compute(self, step: Step) -> Sequence[torch.Tensor]:
        """Return parts `(a, n_i)` of the gradients of the lanes that still run."""
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
        """Add gradients to the parameters, and store them nowhere else: plain SGD.

        The step's `weights` hold minus the rate, too.
        """
        for i, below in self._backward(step):
            layer = self._layers[i]
            layer.weight.baddbmm_(layer.delta_transposed, below)
            if layer.bias is not None:
                layer.bias.add_(layer.padded_delta.sum(1))

    def _backward(self, step: Step) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield each layer, the last first, and its input, once its `delta` is ready.

        When a layer is yielded its weight is no longer needed and may be changed.
        """
        stages, layers, sites = self._stages, self._layers, self._mask_sites(step.masks)
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
        self._gradients = self._padded.parts(self._weight_gradients, self._bias_gradients)

    def _mask_sites(self, masks: torch.Tensor | None) -> list[torch.Tensor]:
        if masks is None:
            return []
        return [masks[:, a:b].view(masks.shape[0], self._width, -1) for a, b in self._sites]


@dataclass(frozen=True, slots=True)
class _Layer:
    """Views of one layer's buffers for the `a` lanes that still run.

    Attributes:
        weight: `(a, outputs, inputs)`, outputs padded.
        transposed: `(a, inputs, outputs)` the same, without the padding.
        bias: `(a, outputs)`, padded (None: there is none).
        bias_row: `(a, 1, outputs)` the same, without the padding.
        output: `(a, width, outputs)` what the layer gives, and elementwise layers make of it.
        below: `(a, width, outputs)` the gradient with respect to what these give.
        padded_delta: `(a, width, outputs)` that with respect to what the layer gives, padded.
        delta: `(a, width, outputs)` the same, without the padding.
        delta_transposed: `(a, outputs, width)` the same, padded.
    """

    weight: torch.Tensor
    transposed: torch.Tensor
    bias: torch.Tensor | None
    bias_row: torch.Tensor | None
    output: Pair
    below: Pair
    padded_delta: torch.Tensor
    delta: torch.Tensor
    delta_transposed: torch.Tensor
