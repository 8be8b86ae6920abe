"""Which of a model's parameters are personal: trained on each device, and never sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn
from typing_extensions import override

from simfl.components.models.base import Model
from simfl.core.types import Flags, Params
from simfl.core.work import WorkResult
from simfl.training.flat import Layout, called, flatten


@dataclass(frozen=True, eq=False)
class PersonalPart:
    """Where personal parameters lie in the vector `(p + q,)` of all that are trained.

    Attributes:
        places: `(p + q,)` whether each is personal: p are shared, q are not.
        initial: `(q,)` what personal ones begin with on every device.
        names: of the personal parameters.
        shapes: theirs.
    """

    places: Flags
    initial: Params
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, module: nn.Module, model: Model) -> "PersonalPart":
        """Return the personal part of `module`, which `model` describes."""
        own = personal_layout(module, model)
        flags = [np.full(p.numel(), name in own.names) for name, p in _trained(module)]
        places = np.concatenate(flags) if flags else np.zeros(0, dtype=np.bool_)
        return cls(places, flatten(module)[places], own.names, own.shapes)

    def shared_of(self, params: Params) -> Params:
        """Return of `params` `(..., p + q)` those that are shared `(..., p)`."""
        return np.ascontiguousarray(params[..., ~self.places])

    def personal_of(self, params: Params) -> Params:
        """Return of `params` `(p + q,)` those that are personal `(q,)`."""
        return params[self.places]

    def joined(self, shared: Params, personal: Params | float) -> Params:
        """Return `(p + q,)` all that are trained.

        Args:
            shared: `(p,)`.
            personal: `(q,)`, or what each of them is.
        """
        params = np.empty(len(self.places), dtype=np.float32)
        params[~self.places], params[self.places] = shared, personal
        return params

    def parted(self, result: WorkResult) -> tuple[WorkResult, Params]:
        """Return `result` of training both parts as that of the shared one, and `(q,)` the other.

        Where personal parameters are not finite nor is what is sent.
        """
        shared, personal = self.shared_of(result.params), self.personal_of(result.params)
        if not np.isfinite(personal).all():
            shared = np.full_like(shared, np.nan)
        extras = dict(result.extras)
        if "gradient" in extras:
            extras["gradient"] = self.shared_of(extras["gradient"])
        return replace(result, params=shared, extras=extras), personal

    def tensors(self, personal: Params) -> dict[str, torch.Tensor]:
        """Return `personal` `(..., q)` by the parameters' names, each `(..., *shape)`."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        ends = np.cumsum(sizes)
        return {
            name: torch.from_numpy(
                personal[..., end - size : end].reshape(*personal.shape[:-1], *shape).copy()
            )
            for name, shape, size, end in zip(self.names, self.shapes, sizes, ends, strict=True)
        }


class OwnModels(Mapping[int, Params]):
    """Models `(p + q,)` by client, each made when it is asked for.

    Args:
        part: which of their parameters are personal.
        model: `(p + q,)` which has all others.
        own: by client, `(q,)` its personal ones.
    """

    def __init__(self, part: PersonalPart, model: Params, own: Mapping[int, Params]) -> None:
        self._part, self._shared, self._own = part, part.shared_of(model), own

    @override
    def __getitem__(self, client: int) -> Params:
        return self._part.joined(self._shared, self._own[client])

    @override
    def __contains__(self, client: object) -> bool:
        return client in self._own

    @override
    def __iter__(self) -> Iterator[int]:
        return iter(self._own)

    @override
    def __len__(self) -> int:
        return len(self._own)


def personal_layout(module: nn.Module, model: Model) -> Layout:
    """Return the layout of the parameters of `module` that stay on each device, by themselves."""
    return _layout(module, model, personal=True)


def shared_layout(module: nn.Module, model: Model) -> Layout:
    """Return the layout of the parameters of `module` that are trained and sent."""
    return _layout(module, model, personal=False)


def _layout(module: nn.Module, model: Model, *, personal: bool) -> Layout:
    own = {id(parameter) for parameter in called(module, model.personal)}
    chosen = [(name, p) for name, p in _trained(module) if (id(p) in own) is personal]
    sizes = [parameter.numel() for _, parameter in chosen]
    return Layout(
        tuple(name for name, _ in chosen),
        tuple(tuple(parameter.shape) for _, parameter in chosen),
        tuple(int(end) - size for end, size in zip(np.cumsum(sizes), sizes, strict=True)),
        sum(sizes),
    )


def _trained(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [(name, p) for name, p in module.named_parameters() if p.requires_grad]
