"""What every component is: options, which stay as they are, and state, which a run changes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from simfl.core.circumstances import Circumstances

T = TypeVar("T")


class Component(BaseModel):
    """A policy that a scenario names: its options are its typed, validated, frozen fields.

    State that changes during a run lives in private attributes (`PrivateAttr`), never in fields,
    so that one scenario can be run many times.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False
    )

    name: ClassVar[str] = ""
    """The name that its class is registered by; of an object that a scenario names, that name."""
    experimental: ClassVar[bool] = False
    """Whether its options and results may still change from one version to the next."""

    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        """Yield what it can't go with, a clause each: ``workload 'coreset' needs `epochs` ...``.

        Raises:
            InputError: as good as yielding its message.
        """
        yield from ()

    def __setattr__(self, name: str, value: object) -> None:
        """Set private attributes, which runs keep in their checkpoints, and nothing else."""
        if name not in self.__private_attributes__:
            raise AttributeError(
                f"{name!r} can't be set: an option is declared by the class, as in "
                f"`{name.lstrip('_')}: float = 0.5`, and stays as it is; so is what a component "
                f"remembers, as in `_{name.lstrip('_')}: int = PrivateAttr(0)`"
            )
        super().__setattr__(name, value)

    def _called(self, name: str) -> Self:
        """Have the name that a scenario has for it, and keep it in copies; return it."""
        if name != self.name:
            self.__dict__["name"] = name  # the object's own: another may go by another name
        return self

    def fresh(self) -> Self:
        """Return a copy with the same options and the state of a new object."""
        options = {
            name: _fresh(option)
            for name, option in self.__dict__.items()
            if name in type(self).model_fields
        }
        copy = cast(Self, type(self).model_construct(self.model_fields_set, **options))
        return copy._called(self.name)

    def state_dict(self) -> dict[str, Any]:
        """Return everything `load_state_dict` needs: arrays, numbers, strings and containers.

        It stays as it is while the run goes on.
        """
        own = self.__pydantic_private__ or {}
        state = {key: dict(v) if isinstance(v, dict) else v for key, v in own.items()}
        parts = {place: part.state_dict() for place, part in self._parts().items()}
        return state | {place: known for place, known in parts.items() if known}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        parts = self._parts()
        for key, value in state.items():
            if key in parts:
                parts[key].load_state_dict(value)
            else:
                setattr(self, key, value)

    def _parts(self) -> dict[str, "Component"]:
        """Return the components among the options, by their place there."""
        return {
            place: option
            for name, value in self.__dict__.items()
            for place, option in _members(name, value)
            if isinstance(option, Component)
        }


def decided_by_options(fact: Callable[[Any], T]) -> T:
    """Make what `fact` returns of an object its value of a class variable of the base class.

    A property by another type: one may not take the place of a class variable, says mypy.
    """
    return cast(T, property(fact))


def _fresh(option: Any) -> Any:
    """Return a copy of an option in which every component has the state of a new one."""
    if isinstance(option, Component):
        return option.fresh()
    if type(option) in (list, tuple):
        return type(option)(_fresh(each) for each in option)
    return {key: _fresh(each) for key, each in option.items()} if type(option) is dict else option


def _members(place: str, option: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an option holds, and its place."""
    if isinstance(option, list | tuple):
        option = dict(enumerate(option))
    if isinstance(option, dict):
        for key, each in option.items():
            yield from _members(f"{place}[{key}]", each)
    else:
        yield place, option


def overrides(component: Component, method: Callable[..., Any]) -> bool:
    """Return whether the class of `component` has its own form of a base class's `method`."""
    return getattr(type(component), method.__name__) is not method
