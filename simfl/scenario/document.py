"""A scenario as written: plain data, and where each piece of it stands in which file."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
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


@dataclass(frozen=True)
class Override:
    """One change to a document: ``--set PATH=VALUE``, or a line of a variant."""

    path: Location
    value: Any
    marks: Mapping[Location, Marks]


@dataclass(frozen=True)
class Document:
    """A scenario as written.  Changes give a new document.

    Attributes:
        data: the plain data; not to be changed.
        marks: where each piece stands, by its path; pieces that are not there have none.
        source: what messages call the file.
        folder: where relative files are looked up (None: the working directory).
        overrides: what was changed by `set`, to be done again after a variant's own changes.
    """

    data: dict[str, Any]
    marks: Mapping[Location, Marks] = field(default_factory=dict, repr=False)
    source: str = "scenario"
    folder: Path | None = None
    overrides: tuple[Override, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> "Document":
        """Return the document in the YAML 1.2 file at `path`.

        Raises:
            ScenarioError: the file can't be read or is no YAML mapping; with the place.
        """
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise ScenarioError(f"{path}: no such file{_sibling(path)}") from None
        except IsADirectoryError:
            raise ScenarioError(f"{path}: is a folder, expected a YAML file") from None
        except OSError as error:
            raise ScenarioError(f"{path}: can't be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise ScenarioError(f"{path}:{line}:1: is not UTF-8 text") from None
        return cls.parse(text, str(path), path.resolve().parent)

    @classmethod
    def parse(cls, text: str, source: str = "scenario", folder: Path | None = None) -> "Document":
        """Return the document that YAML `text` holds; see `load`."""
        data, marks = read_yaml(text, source)
        if data is None:
            raise ScenarioError(f"{source}: is empty, expected a scenario (see `simfl new`)")
        if not isinstance(data, dict):
            place = marks[()].value
            raise ScenarioError(f"{place}: expected a mapping such as `name: ...`, got {data!r}")
        return cls(data, marks, source, folder)

    @classmethod
    def of(cls, data: Mapping[str, Any], *, folder: Path | None = None) -> "Document":
        """Return plain data as a document without places."""
        return cls(deepcopy(dict(data)), folder=folder)

    def set(self, *texts: str) -> "Document":
        """Return the document with changes such as ``rounds.clients=20`` made.

        Raises:
            ScenarioError: one of them is not ``PATH=VALUE``.
        """
        changed = self
        for text in texts:
            source = f"--set {text}"
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise ScenarioError(f"{source}: expected PATH=VALUE, such as rounds.clients=20")
            path = parse_path(name.strip(), source)
            parsed, marks = read_yaml(value, source, lines=False)
            override = Override(path, parsed, {path + key: mark for key, mark in marks.items()})
            changed = changed.change(override)
            changed = replace(changed, overrides=(*changed.overrides, override))
        return changed

    def change(self, override: Override) -> "Document":
        """Return the document with one change made (see `simfl.scenario.overrides`)."""
        from simfl.scenario.overrides import apply

        return apply(self, override)

    def place(self, path: Location, *, key: bool = False) -> Place:
        """Return where `path`, or the closest thing around it, is written.

        Args:
            path: into the data.
            key: its key is meant, not its value.
        """
        for length in range(len(path), -1, -1):
            if mark := self.marks.get(path[:length]):
                return mark.key if key and length == len(path) else mark.value
        return Place(self.source)


def _sibling(path: Path) -> str:
    """Return a hint at a file beside `path` with a similar name, if there is one."""
    try:
        files = [file for file in path.parent.iterdir() if file.suffix in (".yaml", ".yml")]
    except OSError:
        return ""
    names = {file.stem: str(file) for file in sorted(files)}
    close = get_close_matches(path.stem, names, n=1)
    return f"; did you mean '{names[close[0]]}'?" if close else ""


def safe_name(text: str) -> str:
    """Return `text` as the name of a folder on any system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "scenario"


def parse_path(text: str, source: str) -> Location:
    """Return the location that ``fleet[0].count`` or ``fleet.0.count`` names.

    Raises:
        ScenarioError: it is no path.
    """
    if not re.fullmatch(r"[^.\[\]\s]+(?:\.[^.\[\]]+|\[\d+\])*", text):
        raise ScenarioError(f"{source}: {text!r} is no path; expected one such as fleet[0].count")
    keys = re.findall(r"[^.\[\]]+", text)
    return tuple(int(key) if key.isascii() and key.isdigit() else key for key in keys)


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


def file_names(data: object) -> Iterator[str]:
    """Yield the files that plain data name, under keys such as `file`."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(value, str) and (key == "file" or str(key).endswith("_file")):
                yield value
            yield from file_names(value)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for value in data:
            yield from file_names(value)
