"""Plugins: components that installed distributions advertise to simfl by entry points."""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib.metadata import EntryPoint, distributions
from types import ModuleType

from simfl.core.code import import_failure
from simfl.errors import InputError

Register = Callable[[str, str, object], None]
"""Takes the name of an entry point, the ``module:attribute`` that it gives and what is there, and
makes that known under the name."""


@cache
def advertised() -> list[EntryPoint]:
    """Return what installed distributions advertise to simfl, by name; looked up once."""
    points = (point for installed in distributions() for point in installed.entry_points)
    return sorted({p for p in points if p.group.startswith("simfl.")}, key=lambda p: p.name)


class Plugins:
    """What is installed for one kind of component.

    Args:
        kind: what one of them is called, e.g. ``selector``.
        group: of the entry points, e.g. ``simfl.selectors``.
    """

    def __init__(self, kind: str, group: str) -> None:
        self._kind = kind
        self._group = group

    @cached_property
    def _points(self) -> list[EntryPoint]:
        return [point for point in advertised() if point.group == self._group]

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of the modules in which they are; empty: nothing is installed."""
        return tuple(point.module for point in self._points)

    def load(self, register: Register, known: Mapping[str, type]) -> None:
        """Import each: a module registers its classes itself, a class goes by its entry point.

        Args:
            register: makes a class known.
            known: name -> class, of all that are registered by now.

        Raises:
            InputError: one can't be imported or registered, or registers nothing.
        """
        for point in self._points:
            self._load(point, register, known)

    def _load(self, point: EntryPoint, register: Register, known: Mapping[str, type]) -> None:
        installed = f"plugin {point.value!r}, installed for {self._group},"
        try:
            named = point.load()
            if not isinstance(named, ModuleType):
                register(point.name, point.value, named)
        except (Exception, SystemExit) as error:
            raise InputError(f"{installed} {import_failure(error)}") from error
        package = point.module.partition(".")[0]
        packages = {component.__module__.partition(".")[0] for component in known.values()}
        if point.name not in known and package not in packages:
            raise InputError(
                f"{installed} registers no {self._kind}; name the class in its entry point, as in "
                f"{point.name} = '{point.module}:Name'"
            )
