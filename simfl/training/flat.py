"""One flat float32 vector is all of a model that is trained: modules to vectors and back.

Parameters that are not (``requires_grad=False``) make another vector, which stays as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import prod

import numpy as np
import torch
from torch import nn

from simfl.components.models.base import Model
from simfl.core.returned import expect
from simfl.core.types import Params
from simfl.errors import MEANT, InputError, nearest
from simfl.training.batch_norm import use_batch_statistics

MOST_LISTED = 10
"""So many names of parameters are told at most."""


class ModelOptionError(InputError):
    """Options of a model's do not fit its parameters.

    Attributes:
        problems: why, by option.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = problems


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
    def of(cls, module: nn.Module, frozen: bool = False) -> "Layout":
        """Return the layout of the parameters of `module` that are trained.

        Args:
            module: the model.
            frozen: those that are not, instead.

        Raises:
            InputError: the module has buffers, or parameters that are not float32.
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
            if parameter.requires_grad is frozen:
                continue
            names.append(name)
            shapes.append(tuple(parameter.shape))
            offsets.append(size)
            size += parameter.numel()
        return cls(tuple(names), tuple(shapes), tuple(offsets), size)

    def views(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return each parameter as a view of `flat` `(..., p)`, leading dimensions kept."""
        return {
            name: flat[..., offset : offset + prod(shape)].reshape((*flat.shape[:-1], *shape))
            for name, shape, offset in zip(self.names, self.shapes, self.offsets, strict=True)
        }


def trained(module: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of `module` that are trained, in the order of the flat vector."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def is_frozen(module: nn.Module) -> bool:
    """Whether some parameter of `module` is not trained."""
    return not all(parameter.requires_grad for parameter in module.parameters())


def flatten(module: nn.Module, frozen: bool = False) -> Params:
    """Return the parameters of `module` as one vector, a copy: `(p,)` of those that are trained.

    Args:
        module: the model.
        frozen: of those that are not, instead.
    """
    chosen = [p for p in module.parameters() if p.requires_grad is not frozen]
    parameters = [parameter.detach().reshape(-1).cpu() for parameter in chosen]
    return torch.cat(parameters).numpy().copy() if parameters else np.zeros(0, np.float32)


def copied(params: Params) -> torch.Tensor:
    """Return `params` `(p,)` as a tensor of its own."""
    return torch.from_numpy(np.array(params, dtype=np.float32))


def load(module: nn.Module, params: Params | torch.Tensor, frozen: bool = False) -> None:
    """Copy what `flatten` returned, `(p,)`, into `module`."""
    views = Layout.of(module, frozen).views(torch.as_tensor(params))
    with torch.no_grad():
        for name, view in views.items():
            module.get_parameter(name).copy_(view)


def build(model: Model, shape: tuple[int, ...], classes: int, seed: int = 0) -> nn.Module:
    """Return the module that `model` describes, initialised from `seed` alone.

    PyTorch's initialisers draw from its global generator, so that generator is forked and seeded
    here, and nowhere else.  Batch norm layers normalise by the batch at hand, always.

    Raises:
        InputError: it can't be trained, as it is TorchScript's or has parameters without numbers.
        ModelOptionError: it has no parameters that are called as an option of `model` says.
    """
    with torch.random.fork_rng(devices=[]):
        # `torch.manual_seed` writes a stack trace for each kind of GPU that is not there.
        torch.default_generator.manual_seed(seed % 2**63)
        module = model.build(shape, classes)
    expect(isinstance(module, nn.Module), "a torch.nn.Module", module)
    _refuse_untrainable(module, model)
    use_batch_statistics(module)
    patterns = {name: getattr(model, name) for name in ("frozen", "reinitialised", "personal")}
    _refuse_unknown(module, patterns)
    for parameter in called(module, model.frozen):
        parameter.requires_grad_(False)
    _refuse_untrained(module, model)
    return module


def _refuse_untrainable(module: nn.Module, model: Model) -> None:
    if any(isinstance(layer, torch.jit.ScriptModule) for layer in module.modules()):
        raise InputError(
            f"model {model.name!r} is, or holds, a module of TorchScript, which can't be trained "
            "here; give the module that it was made of"
        )
    empty = [name for name, parameter in module.named_parameters() if parameter.is_meta]
    if empty and torch.get_default_device().type != "meta":  # nobody made all so, to look at it
        raise InputError(
            f"model {model.name!r} has parameters on PyTorch's meta device, where they have no "
            f"numbers ({_listed(empty)}); make them on the CPU"
        )


def reinitialised(module: nn.Module, model: Model) -> list[nn.Parameter]:
    """Return the parameters of `module` that no file sets, as its `model` says."""
    return called(module, model.reinitialised)


def _refuse_unknown(module: nn.Module, options: Mapping[str, Sequence[str]]) -> None:
    """Refuse patterns that `options` list and that fit no parameter's name."""
    names = [*_named(module)]
    unfit = {
        option: [each for each in patterns if not any(fnmatchcase(name, each) for name in names)]
        for option, patterns in options.items()
    }
    problems = {
        option: f"no parameter matches {' or '.join(map(repr, patterns))}; there are "
        f"{_listed(names)}{_meant(patterns, names)}"
        for option, patterns in unfit.items()
        if patterns
    }
    if problems:
        raise ModelOptionError(problems)


def _meant(patterns: Sequence[str], names: Sequence[str]) -> str:
    """Return which name, or all of which layer, was probably meant ("": nobody can tell)."""
    layers = {f"{name[:at]}.*" for name in names for at, sign in enumerate(name) if sign == "."}
    hints = [nearest(pattern, {*names, *layers}, alike=0.75) for pattern in patterns]
    return next((hint for hint in hints if hint.startswith(MEANT)), "")


def _refuse_untrained(module: nn.Module, model: Model) -> None:
    """Refuse patterns of personal parameters that fit none that is trained."""
    for pattern in model.personal:
        if not any(parameter.requires_grad for parameter in called(module, [pattern])):
            why = f"parameters that match {pattern!r} are not trained, so no device has its own"
            raise ModelOptionError({"personal": why})


def called(module: nn.Module, patterns: Sequence[str]) -> list[nn.Parameter]:
    """Return the parameters whose names fit one of the `patterns`."""
    return [
        parameter
        for name, parameter in _named(module).items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _named(module: nn.Module) -> dict[str, nn.Parameter]:
    return dict(module.named_parameters(remove_duplicate=False))  # layers may share a parameter


def _listed(names: Sequence[str]) -> str:
    shown = names if len(names) <= MOST_LISTED else [*names[: MOST_LISTED - 1], "...", names[-1]]
    return ", ".join(shown)


def initial_params(model: Model, shape: tuple[int, ...], classes: int, seed: int) -> Params:
    """Return the initial global model `(p,)`: PyTorch's default initialisation under `seed`."""
    module = build(model, shape, classes, seed)
    Layout.of(module)  # refuses what is not all in the vector
    return flatten(module)
