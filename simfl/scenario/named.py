"""The field type of a component: a name, or a mapping with a name and options."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from simfl.core.units import as_text
from simfl.scenario.kinds import registry

COMPONENT = "x-component"
"""Stands in a JSON Schema for one kind of component until all of them are written out."""


class Named:
    """Annotation of a component field, such as ``Annotated[Selector, Named("selectors")]``.

    Args:
        kind: plural, as in `simfl.scenario.kinds`.
        default: the member meant by a mapping without a `name`, and by no mapping at all.
    """

    def __init__(self, kind: str, default: str | None = None) -> None:
        self.kind = kind
        self.default = default

    def parse(self, value: object) -> Any:
        """Return the component that `value` stands for; see `Registry.parse`."""
        if isinstance(value, Mapping) and "name" not in value and self.default is not None:
            value = {"name": self.default, **value}
        return registry(self.kind).parse(value)

    def dump(self, component: Any) -> dict[str, Any]:
        """Return the mapping that `parse` turns back into an equal component."""
        return registry(self.kind).dump(component)

    @property
    def factory(self) -> Callable[[], Any]:
        """What makes the default component."""
        return lambda: self.parse(self.default)

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return as_text(self.parse, self.dump)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {COMPONENT: self.kind}
