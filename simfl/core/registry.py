"""How components are found by name: built-in ones, plugins, and `module:Class`."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Generic, TypeVar, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from simfl.core.code import NotImported, import_failure, message_with_line, named_class, own_file
from simfl.core.component import Component
from simfl.core.named_options import COMPONENT, glued_name, nested
from simfl.core.ownership import is_simfls
from simfl.core.plugins import Plugins
from simfl.core.units import as_text
from simfl.errors import InputError, NameNotFound

C = TypeVar("C", bound=Component)
T = TypeVar("T", bound=Component)


class Registry(Generic[C]):
    """One kind of interchangeable component, such as all client selectors.

    As an annotation it makes a field that scenarios write as a name, or as a mapping with a name
    and options: ``Annotated[Selector, selectors]``.

    Args:
        kind: what one of them is called, e.g. ``selector``.
        package: the folder whose files are the built-in members, e.g.
            ``simfl.components.selectors``; its last word names the entry-point group under which
            plugins advertise modules or classes, e.g. ``simfl.selectors``.
        default: the member meant by a mapping without a `name`, and by nothing at all, if any.
        adopt: what is at ``module:attribute`` -> what stands for it among components of this kind,
            where the kind has use for what is no component.

    Attributes:
        classes: name -> class, of those imported so far.
    """

    def __init__(
        self,
        kind: str,
        package: str,
        default: str | None = None,
        adopt: Callable[[object], object] = lambda named: named,
    ) -> None:
        self.kind = kind
        self.package = package
        self.plural = package.rpartition(".")[2]
        self.default = default
        self._adopt = adopt
        self._plugins = Plugins(kind, f"simfl.{self.plural}")
        self.classes: dict[str, type[C]] = {}
        self._loaded = False
        self._installed: frozenset[type[C]] = frozenset()  # what any process finds by name

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator: make the class known under `name`.

        Raises:
            InputError: another class has that name.
        """

        def bind(component: type[T]) -> type[T]:
            known = self.classes.get(name, component)
            if _home(known) != _home(component):
                raise InputError(
                    f"{self.kind} {name!r} is registered twice: by {_home(known)} and by "
                    f"{_home(component)}; give one of them another name"
                )
            if "name" not in vars(component):  # else it goes by several
                component.name = name
            self.classes[name] = cast(type[C], component)
            return component

        return bind

    def load(self) -> None:
        """Import every built-in member and every plugin, once.

        Raises:
            InputError: a plugin can't be imported.
        """
        if self._loaded:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        self._plugins.load(self._register_plugin, self.classes)
        homes = ("simfl.", *self._plugins.modules)
        known = self.classes.values()
        self._installed = frozenset(
            member for member in known if member.__module__.startswith(homes)
        )
        self._loaded = True

    def _register_plugin(self, name: str, place: str, named: object) -> None:
        """Register what is at ``module:attribute``, its `place`, under an entry point's `name`."""
        self.register(name)(self._component(place, named))

    def _import(self, name: str) -> None:
        """Import the file that is called as a member: most are.

        All others are imported where that does not find it, and where there are plugins, one of
        which may want the same name.
        """
        if not self._plugins.modules:
            module = f"{self.package}.{name}"
            if name.isidentifier() and find_spec(module) is not None:
                importlib.import_module(module)
            if name in self.classes:
                return
        self.load()

    def names(self) -> list[str]:
        """Return the registered names, sorted."""
        self.load()
        return sorted(self.classes)

    def get(self, name: str) -> type[C]:
        """Return the class registered as `name`, or the one at ``module:Class``.

        Raises:
            NameNotFound: nothing goes by that name.
            InputError: the module or its class can't be imported.
        """
        if not self._loaded:
            self._import(name)
        if name in self.classes:
            return self.classes[name]
        file, colon, attribute = name.partition(":")
        if not colon or not attribute.isidentifier():
            file = own_file(file)
            own = f"; {self.one} of your own is written '{file}:Name'" if file else ""
            raise NameNotFound(self.kind, name, self.classes, own)
        try:
            named = named_class(name)
        except NotImported as error:
            raise InputError(f"{self.kind} {name!r} {error}") from None
        except (Exception, SystemExit) as error:
            raise InputError(f"{self.kind} {name!r} {import_failure(error)}") from error
        return self._component(name, named)

    def _component(self, name: str, named: object) -> type[C]:
        """Return what is `named` as a component.

        Raises:
            InputError: it is none, or lacks some of its methods.
        """
        component = self._adopt(named)
        if not (isinstance(component, type) and issubclass(component, Component)):
            what = "class" if isinstance(component, type) else type(component).__name__
            raise InputError(
                f"{self.kind} {name!r} is a {what}, but no class derived from simfl's "
                f"{self.base.__name__} ({self.base.__module__})"
            )
        if inspect.isabstract(component):
            lacks = ", ".join(f"`{method}`" for method in sorted(component.__abstractmethods__))
            raise InputError(f"{self.kind} {name!r} lacks {lacks}")
        return cast(type[C], component)

    def parse(self, value: object) -> C:
        """Return the component that `value`, a name or a mapping with a name, stands for.

        Raises:
            InputError: there is no such component, or it can't be made.
            PydanticCustomError: its options are wrong, to be unfolded by whoever validates the
                whole document.
        """
        if isinstance(value, Component):
            return cast(C, value)
        options: dict[str, Any] = dict(value) if isinstance(value, Mapping) else {"name": value}
        if "name" not in options and len(options) == 1 and (key := str(*options)) in self.names():
            raise InputError(f"the name is written `name: {key}`, with options beside it")
        if glued := glued_name(options):
            raise InputError(f"{glued!r} is written `name: {glued[5:]}`, with a space")
        name = options.pop("name", self.default)
        if isinstance(name, type) and issubclass(name, Component):
            raise InputError(f"{name.__name__} is a class; give an object of it, {name.__name__}()")
        if not isinstance(name, str):
            raise InputError(
                f"expected the name of {self.one} or a mapping with a `name`, one of: "
                f"{', '.join(self.names())}"
            )
        component = self.get(name)
        return self._made(name, component, options)._called(self.known_by(name, component))

    def _made(self, name: str, component: type[C], options: Mapping[str, Any]) -> C:
        """Return a `component` with these options; what its own code raises is told as its own."""
        try:
            made = component.model_validate(options)
            if not hasattr(made, "__pydantic_private__"):
                raise TypeError("its __init__ must call super().__init__(**options)")
        except ValidationError as error:
            raise nested(f"{self.kind} {name!r} has wrong options", component, error) from None
        except (Exception, SystemExit) as error:
            if is_simfls(component):
                raise
            raised = f"{type(error).__name__}: {message_with_line(error)}"
            raise InputError(f"{self.kind} {name!r} can't be made: {raised}") from error
        return made

    @property
    def base(self) -> type[Component]:
        """The class that all members are derived from."""
        # Whoever is known while plugins are loaded: it is asked for to tell what is wrong with one.
        member = self.classes[min(self.classes or self.names())]
        return next(kind for kind in member.__mro__ if Component in kind.__bases__)

    @property
    def one(self) -> str:
        """One member with its article, e.g. ``a selector`` or ``an optimizer``."""
        return f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"

    def known_by(self, name: str, component: type[C]) -> str:
        """Return the name by which other processes find a class that was found by `name`.

        At ``module:Class`` it is that, whatever the class inherits or registered itself as, but for
        those that any process knows.
        """
        return component.name if ":" in name and component in self._installed else name

    def dump(self, component: C) -> dict[str, Any]:
        """Return `component` as the mapping that `parse` accepts, every option written out."""
        return {"name": component.name, **component.model_dump(mode="json")}

    def make(self) -> C:
        """Return the default component."""
        return self.parse({})

    def __get_pydantic_core_schema__(self, base: type[C], _: GetCoreSchemaHandler) -> CoreSchema:
        def parse(value: object) -> C:
            component = self.parse(value)
            if not isinstance(component, base):
                raise InputError(
                    f"{component.name or type(component).__name__!r} is no {self.kind}"
                )
            return component

        return as_text(parse, self.dump)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {COMPONENT: self.plural}


def _home(component: type) -> str:
    return f"{component.__module__}:{component.__qualname__}"
