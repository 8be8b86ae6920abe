"""YAML 1.2 text <-> plain data, and where each piece of it stands."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from simfl.errors import ScenarioError

if TYPE_CHECKING:
    from ruamel.yaml import Node

Key = str | int
Location = tuple[Key, ...]
"""A path into plain data, such as ``("fleet", 0, "uplink")``."""

_LIMIT = 100_000


@dataclass(frozen=True, order=True)
class Place:
    """Where something was written; line and column count from 1 (0: not in a file)."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True)
class Marks:
    """Where a key and its value stand (items of a list have no key)."""

    key: Place
    value: Place


def dotted(path: Location) -> str:
    """Return a location as text.

    >>> dotted(("fleet", 0, "count"))
    'fleet[0].count'
    """
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def read_yaml(text: str, source: str, *, lines: bool = True) -> tuple[Any, dict[Location, Marks]]:
    """Return the plain data in YAML 1.2 `text`, and where each piece stands.

    Args:
        text: the YAML.
        source: what messages call it.
        lines: whether lines and columns mean anything to the reader of a message.

    Raises:
        ScenarioError: it is no YAML, or has duplicate keys, keys that are no text, or NaN.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    def place(mark: Any) -> Place:
        return Place(source, mark.line + 1, mark.column + 1) if lines and mark else Place(source)

    yaml = YAML(typ="safe", pure=True)
    try:
        node = yaml.compose(StringIO(text))
        if node is None:
            return None, {(): Marks(Place(source), Place(source))}
        return _Builder(yaml.constructor, place).build(node)
    except MarkedYAMLError as error:
        what = " ".join(part for part in (error.context, error.problem) if part)
        where = place(error.problem_mark or error.context_mark)
        hint = "; indent with spaces" if "\\t" in what else ""
        raise ScenarioError(f"{where}: is no valid YAML: {what}{hint}") from None
    except RecursionError:
        raise ScenarioError(f"{source}: is nested too deeply") from None
    except YAMLError as error:
        # A character that YAML forbids; the error knows only how many characters come before it.
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        what = str(error).partition("\n")[0]
        raise ScenarioError(f"{source}:{line}:1: is no valid YAML: {what}") from None


class _Builder:
    """Turns YAML nodes into plain data and marks, collecting every problem."""

    def __init__(self, constructor: Any, place: Any) -> None:
        self._constructor = constructor
        self._place = place
        self._marks: dict[Location, Marks] = {}
        self._problems: list[str] = []
        self._above: list[Any] = []

    def build(self, node: "Node") -> tuple[Any, dict[Location, Marks]]:
        data = self._value(node, (), node)
        if self._problems:
            raise ScenarioError("\n".join(self._problems))
        return data, self._marks

    def _value(self, node: Any, path: Location, key: Any) -> Any:
        self._marks[path] = Marks(self._place(key.start_mark), self._place(node.start_mark))
        if len(self._marks) > _LIMIT:
            raise ScenarioError(f"{self._place(node.start_mark)}: has more than {_LIMIT:,} values")
        if any(node is outer for outer in self._above):
            return self._problem(node, path, "refers to itself")
        tag = str(node.tag).removeprefix("tag:yaml.org,2002:")
        self._above.append(node)
        try:
            if tag == "map":
                return self._mapping(node, path)
            if tag == "seq":
                return [self._value(item, (*path, i), item) for i, item in enumerate(node.value)]
            return self._scalar(node, path, tag)
        finally:
            self._above.pop()

    def _mapping(self, node: Any, path: Location) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value
            if str(key.tag).endswith(":merge"):
                self._problem(key, path, "merge keys (<<) are no YAML 1.2; write the keys out")
            elif not isinstance(name, str) or str(key.tag).endswith((":map", ":seq")):
                self._problem(key, path, "expected text as a key")
            elif name in data:
                first = self._marks[(*path, name)].key
                where = f", first in line {first.line}" if first.line else ""
                self._problem(key, path, f"duplicate key {name!r}{where}")
            else:
                data[name] = self._value(value, (*path, name), key)
        return data

    def _scalar(self, node: Any, path: Location, tag: str) -> Any:
        if tag not in ("null", "bool", "int", "float", "str", "timestamp", "value"):
            return self._problem(node, path, f"unknown YAML tag {node.tag}")
        if tag in ("str", "timestamp", "value"):
            return node.value
        value = self._constructor.construct_object(node)
        if isinstance(value, float) and math.isnan(value):
            return self._problem(node, path, "NaN is no number a scenario can use")
        return value

    def _problem(self, node: Any, path: Location, message: str) -> None:
        where = f"{dotted(path)}: " if path else ""
        self._problems.append(f"{self._place(node.start_mark)}: {where}{message}")


def to_yaml(data: Mapping[str, Any]) -> str:
    """Return plain data as YAML, leaves in one line each."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import SafeRepresenter

    class Representer(SafeRepresenter):
        """Quotes what YAML would fold or forbid, such as Unicode's line separators."""

        def represent_str(self, text: str) -> Any:
            style = None if text.isprintable() else '"'
            return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Representer.add_representer(str, Representer.represent_str)
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = Representer
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 1_000_000
    out = StringIO()
    yaml.dump(dict(data), out)
    return out.getvalue()
