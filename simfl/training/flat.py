"""One flat float32 vector is the whole model: modules to vectors and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from simfl.components.models.base import Model
from simfl.core.returned import expect
from simfl.core.types import Params
from simfl.errors import InputError
from simfl.training.batch_norm import use_batch_statistics


@dataclass(frozen=True)
class Layout:
    """Where each parameter of a module lies in the flat vector, in ``named_parameters`` order.

    Attributes:
        names: qualified parameter names.
        shapes: their shapes.
        offsets: where each begins.
        size: length p of the vector.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, module: nn.Module) -> "Layout":
        """Return the layout of `module`.

        Raises:
            InputError: the module has buffers, or parameters that are frozen or not float32.
        """
        if buffers := [name for name, _ in module.named_buffers()]:
            raise InputError(
                f"the model keeps buffers ({', '.join(buffers)}), but the parameters must be the "
                "whole model; a constant can be a plain attribute, and of layers with running "
                "statistics only batch norm can do without them"
            )
        names, shapes, offsets, size = [], [], [], 0
        for name, parameter in module.named_parameters():
            if parameter.dtype != torch.float32:
                raise InputError(f"parameter {name} is {parameter.dtype}, expected float32")
            if not parameter.requires_grad:
                raise InputError(f"parameter {name} is frozen, but clients train the whole model")
            names.append(name)
            shapes.append(tuple(parameter.shape))
            offsets.append(size)
            size += parameter.numel()
        return cls(tuple(names), tuple(shapes), tuple(offsets), size)

    def views(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return each parameter as a view of `flat` `(..., p)`, leading dimensions kept."""
        return {
            name: flat[..., offset : offset + prod(shape)].reshape(*flat.shape[:-1], *shape)
            for name, shape, offset in zip(self.names, self.shapes, self.offsets, strict=True)
        }


def flatten(module: nn.Module) -> Params:
    """Return the parameters of `module` as one vector `(p,)`, a copy."""
    parameters = [p.detach().reshape(-1).cpu() for p in module.parameters()]
    return torch.cat(parameters).numpy().copy() if parameters else np.zeros(0, np.float32)


def load(module: nn.Module, params: Params | torch.Tensor) -> None:
    """Copy `params` `(p,)` into `module`."""
    views = Layout.of(module).views(torch.as_tensor(params))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(views[name])


def state_dict(module: nn.Module, params: Params) -> Mapping[str, torch.Tensor]:
    """Return `params` as a state dict of `module`, for `torch.save`."""
    flat = torch.from_numpy(np.array(params, dtype=np.float32))
    return {name: view.clone() for name, view in Layout.of(module).views(flat).items()}


def build(model: Model, shape: tuple[int, ...], classes: int, seed: int = 0) -> nn.Module:
    """Return the module that `model` describes, initialised from `seed` alone.

    PyTorch's initialisers draw from its global generator, so that generator is forked and seeded
    here, and nowhere else.  Batch norm layers normalise by the batch at hand, always.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)  # noqa: TID251
        module = model.build(shape, classes)
    expect(isinstance(module, nn.Module), "a torch.nn.Module", module)
    use_batch_statistics(module)
    return module


def initial_params(model: Model, shape: tuple[int, ...], classes: int, seed: int) -> Params:
    """Return the initial global model `(p,)`: PyTorch's default initialisation under `seed`."""
    module = build(model, shape, classes, seed)
    Layout.of(module)
    return flatten(module)


def takes_tokens(module: nn.Module) -> bool:
    """Whether the module's inputs are tokens, whole numbers, instead of measurements."""
    return any(isinstance(layer, nn.Embedding) for layer in module.modules())


def example_input(module: nn.Module, shape: tuple[int, ...], n: int = 1) -> torch.Tensor:
    """Return `n` zero inputs of `shape` in the dtype that the module takes (tokens or floats)."""
    tokens = takes_tokens(module)
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    return torch.zeros((n, *shape), dtype=torch.int64 if tokens else torch.float32, device=device)


def forward_flops(module: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the FLOPs of one sample's forward pass, counted from the operators that run."""
    return _count(module, shape, backward=False) + _recurrent_flops(module, shape)


def training_flops(module: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the FLOPs of training on one sample, counted from the operators that run.

    Forward and backward; what elementwise operations and the optimizer's step take is left out.
    Three times the forward pass, but for the first layer, which needs no gradient of its input; in
    fused recurrent layers, which can't be looked into, it is taken to be three times.
    """
    return _count(module, shape, backward=True) + 3 * _recurrent_flops(module, shape)


def _count(module: nn.Module, shape: tuple[int, ...], backward: bool) -> int:
    """Return the FLOPs of all but fused recurrent layers."""
    was_training = module.training
    module.eval()
    x = example_input(module, shape)
    try:
        counter = _Counter()  # type: ignore[no-untyped-call]
        with torch.set_grad_enabled(backward), counter:
            outputs = module(x)
            if backward:
                torch.autograd.grad(outputs.sum(), list(module.parameters()), allow_unused=True)
    finally:
        module.train(was_training)
    return counter.flops


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
        formula = flop_registry.get(func._overloadpacket)
        if formula is None:
            with self:
                result = func.decompose(*args, **kwargs or {})
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs or {})
        if formula is not None:
            self.flops += int(formula(*args, **kwargs or {}, out_val=result))
        return result


def _recurrent_flops(module: nn.Module, shape: tuple[int, ...]) -> int:
    """Return what the counter can't see: fused recurrent layers, two per weight and time step."""
    gates = [layer for layer in module.modules() if isinstance(layer, nn.RNNBase)]
    if not gates:
        return 0
    steps = shape[0]
    weights = sum(
        p.numel() for layer in gates for name, p in layer.named_parameters() if "weight" in name
    )
    return 2 * weights * steps
