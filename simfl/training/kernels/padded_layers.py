"""How the weights and biases of a stack of linear layers lie in memory, for many lanes."""

from collections.abc import Sequence

import torch

from simfl.training.flat import Layout
from simfl.training.kernels.stages import Stage


class PaddedLayers:
    """Weights and biases layer by layer, one lane's matrix behind the other's.

    They have a few more outputs than the layer if that is what it takes for each lane's weight to
    begin at a full 64 bytes; those stay zero.

    Args:
        layout: of the flat vector.
        stages: the layers.

    Attributes:
        outputs: of each layer, padded.
        names: of the parts.
    """

    def __init__(self, layout: Layout, stages: Sequence[Stage]) -> None:
        self._layout, self._stages = layout, stages
        self.outputs = [stage.padded_outputs for stage in stages]
        both = [(stage.weight, stage.bias) for stage in stages]
        self.names = [name for pair in both for name in pair if name is not None]

    def storage(
        self, models: Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return weights `(l, outputs, inputs)` and biases `(l, outputs)` of `models`, padded."""
        views = self._layout.views(torch.stack(list(models)))
        weights, biases = [], []
        for stage, outputs in zip(self._stages, self.outputs, strict=True):
            weight = torch.zeros(len(models), outputs, stage.inputs)
            weight[:, : stage.outputs] = views[stage.weight]
            bias = torch.zeros(len(models), outputs)
            if stage.bias is not None:
                bias[:, : stage.outputs] = views[stage.bias]
            weights.append(weight)
            biases.append(bias)
        return weights, biases

    def parts(
        self, weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return the unpadded parts `(l, n_i)`, as views."""
        parts = []
        for stage, weight, bias in zip(self._stages, weights, biases, strict=True):
            parts.append(weight[:, : stage.outputs].flatten(1))
            if stage.bias is not None:
                parts.append(bias[:, : stage.outputs])
        return parts

    def models(self, parts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return the models `(p,)` whose parts `(l, n_i)` these are."""
        whole = parts[0].new_empty(parts[0].shape[0], self._layout.size)
        views = self._layout.views(whole)
        for name, part in zip(self.names, parts, strict=True):
            views[name].flatten(1).copy_(part)
        return list(whole.unbind())
