"""The seam of models: options -> a fresh `torch.nn.Module`, torch imported only then."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.errors import InputError

if TYPE_CHECKING:
    from torch import nn


class Model(Component, ABC):
    """An architecture.

    The flat parameter vector is all of the model that changes: batch norm layers keep no running
    statistics, they normalise by the batch at hand, and a model with other buffers is refused.
    """

    weights_file: Path | None = Field(
        None,
        description="PyTorch state dict, beside the scenario, with which all seeds begin, such as "
        "the model.pt of a run; omitted: each seed draws its own weights",
    )
    reinitialised: tuple[str, ...] = Field(
        (),
        description="parameters that `weights_file` does not set, by patterns such as 'head.*': "
        "each seed draws its own, whatever the file holds for them",
    )
    frozen: tuple[str, ...] = Field(
        (),
        description="parameters that are not trained, by patterns such as 'features.*'; devices "
        "hold them from the start, so they are never sent",
    )
    personal: tuple[str, ...] = Field(
        (),
        description="parameters of which each device trains its own, by patterns such as 'head.*'; "
        "they are never sent, nor averaged (partial personalisation); with '*' each trains alone",
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        model = circumstances.architecture if circumstances.tokens else None
        if model is not None and not model.reads_tokens:
            yield (
                f"model {self.name!r} takes no tokens, so it can't be trained on data set "
                f"{circumstances.dataset!r}"
            )

    @abstractmethod
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        """Return the module for inputs of `shape` (without the batch) and `classes` outputs.

        Parameters are set by PyTorch's default initialisation under whatever generator state the
        caller has forked; the forward pass maps `(n, *shape)` to logits `(n, classes)`.

        Raises:
            InputError: the shape does not fit.
        """


class ModuleModel(Model):
    """A `torch.nn.Module` of the user's, or a function that makes one: options are its arguments.

    Parameters called `shape` and `classes` are given what the data set has, unless an option says
    otherwise.
    """

    model_config = ConfigDict(extra="allow")

    factory: ClassVar[Callable[..., Any]]

    @model_validator(mode="after")
    def _has_arguments(self) -> Self:
        signature = inspect.signature(self.factory)
        if taken := sorted({*Model.model_fields} & {*signature.parameters}):
            raise ValueError(
                f"simfl has an option `{taken[0]}` itself; call the argument otherwise"
            )
        given = {name: None for name in ("shape", "classes") if name in signature.parameters}
        try:
            signature.bind(**given | self._options)
        except TypeError as error:
            raise ValueError(f"{error}; its arguments are {signature}") from None
        return self

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        model = circumstances.architecture if circumstances.tokens is False else None
        if model is not None and model.tokens:
            yield (
                f"model {self.name!r} takes tokens, not measurements, so it can't be trained on "
                f"data set {circumstances.dataset!r}; data of your own are tokens where they say "
                "`inputs_are: tokens`"
            )

    @property
    def _options(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__ or {})

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn
        from torch.nn.modules.lazy import LazyModuleMixin

        known = {"shape": shape, "classes": classes}
        wanted = inspect.signature(self.factory).parameters
        data = {name: value for name, value in known.items() if name in wanted}
        module = type(self).factory(**data | self._options)
        if not isinstance(module, nn.Module):
            made = type(module).__name__
            raise InputError(f"model {self.name!r} must be a torch.nn.Module, but it is a {made}")
        if lazy := [layer for layer in module.modules() if isinstance(layer, LazyModuleMixin)]:
            raise InputError(
                f"model {self.name!r} has a {type(lazy[0]).__name__}, whose size is not known "
                "before its first input; give it one: arguments called `shape` and `classes` are "
                "what the data set has"
            )
        return module

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[dict[str, Any]]]:
        """Send other processes the name, by which they find the module themselves."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return _found_by_name, ({"name": self.name, **own, **self._options},)


def _found_by_name(options: dict[str, Any]) -> Model:
    return models.parse(options)


def _adopt(named: object) -> object:
    """A plain `torch.nn.Module`, or a function that makes one, is as good as a `Model`."""
    if isinstance(named, type):
        from torch import nn

        if not issubclass(named, nn.Module):
            return named
    return _module_model(named) if callable(named) else named


@cache
def _module_model(factory: Callable[..., Any]) -> type[Model]:
    facts = {
        "factory": staticmethod(factory),
        "__module__": factory.__module__,
        "__annotations__": {},
    }
    return type("ModuleModel", (ModuleModel,), facts)


models: Registry[Model] = Registry("model", "simfl.components.models", adopt=_adopt)
