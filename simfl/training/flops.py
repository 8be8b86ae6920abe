"""How many floating-point operations a model takes, counted from the operators that run."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from simfl.training.flat import trained
from simfl.training.tokens import example_input

ATEN = torch.ops.aten


def forward_flops(module: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the FLOPs of one sample's forward pass, counted from the operators that run.

    Those of training: what PyTorch fuses where no gradient is asked for can't be looked into.
    """
    return _count(module, shape, backward=False)


def training_flops(module: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the FLOPs of training on one sample, counted from the operators that run.

    Forward and backward; what elementwise operations and the optimizer's step take is left out.
    Three times the forward pass, but for the first layer, which needs no gradient of its input; in
    fused recurrent layers, which can't be looked into, it is taken to be three times.  As autograd
    does it, the backward pass ends at the first layer that is trained, and frozen ones after it
    pass on the gradient of their inputs alone.
    """
    return _count(module, shape, backward=True)


def _count(module: nn.Module, shape: tuple[int, ...], backward: bool) -> int:
    was_training = module.training
    module.eval()
    x = example_input(module, shape)
    try:
        counter = _Counter()  # type: ignore[no-untyped-call]
        with torch.enable_grad(), counter:
            outputs = module(x)
            if backward:
                torch.autograd.grad(outputs.sum(), trained(module), allow_unused=True)
    finally:
        module.train(was_training)
    return counter.flops


def _fused_recurrent(x: torch.Tensor, *rest: Any, **_: Any) -> int:
    """Return the FLOPs of one direction of a layer forwards: two a weight, step and sample.

    Args:
        x: `(steps, n, inputs)`.
        rest: the weights of inputs, those of states, and what has none.
    """
    inputs, states = rest[:2]
    return 2 * len(x) * x.shape[1] * int(inputs.numel() + states.numel())


def _fused_recurrent_backward(*args: Any, **_: Any) -> int:
    return 2 * _fused_recurrent(*args)


FUSED: dict[Any, Callable[..., int]] = {
    ATEN.mkldnn_rnn_layer: _fused_recurrent,
    ATEN.mkldnn_rnn_layer_backward: _fused_recurrent_backward,
    ATEN._scaled_dot_product_flash_attention_for_cpu: flop_registry[
        ATEN._scaled_dot_product_flash_attention
    ],
    ATEN._scaled_dot_product_flash_attention_for_cpu_backward: flop_registry[
        ATEN._scaled_dot_product_flash_attention_backward
    ],
}
"""Operators of processors that PyTorch's own counter has no formula of."""


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the FLOPs of the operators that run.

    As `torch.utils.flop_counter.FlopCounterMode`, by its formulas, without what makes that import
    PyTorch's compiler, which takes longer than the rest of a small run's start.
    """

    flops: int = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        operator = func._overloadpacket
        formula = flop_registry.get(operator) or FUSED.get(operator)
        if formula is None:
            with self:
                result = func.decompose(*args, **kwargs or {})
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs or {})
        if formula is not None:
            self.flops += int(formula(*args, **kwargs or {}, out_val=result))
        return result
