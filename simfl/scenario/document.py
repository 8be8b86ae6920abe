"""A scenario as written: plain data, and where each piece of it stands in which file."""

import re
from collections.abc import Iterator, KeysView, Mapping, Sequence, ValuesView
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, cast

from simfl.core.arguments import called, require_kind
from simfl.core.code import is_code
from simfl.core.files import no_file, similar_file
from simfl.errors import ScenarioError
from simfl.scenario.language.place import Location, Marks, Place
from simfl.scenario.language.yaml import MOST_BYTES, read_yaml
from simfl.scenario.overrides import Override, apply, parse_path


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
        require_kind("scenario", path, str | PurePath, "the path of a YAML file")
        path = Path(path)
        if str(path) == "-":
            raise ScenarioError(
                "a scenario is read from a file, not from standard input: what it names is looked "
                "up beside that file"
            )
        if what := no_file(path):
            raise ScenarioError(f"{path}: is {what}, expected a YAML file")
        try:
            with path.open("rb") as file:
                read = file.read(MOST_BYTES + 1)
            if len(read) > MOST_BYTES:
                raise ScenarioError(f"{path}: is longer than {MOST_BYTES:,} bytes")
            text = read.decode("utf-8-sig")
        except FileNotFoundError:
            raise ScenarioError(
                f"{path}: no such file{similar_file(path, ('.yaml', '.yml'))}"
            ) from None
        except IsADirectoryError:
            raise ScenarioError(f"{path}: is a folder, expected a YAML file") from None
        except OSError as error:
            raise ScenarioError(f"{path}: can't be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise ScenarioError(f"{path}:{line}:1: is not UTF-8 text; save it as UTF-8") from None
        return cls.parse(text, str(path), path.resolve().parent)

    @classmethod
    def parse(cls, text: str, source: str = "scenario", folder: Path | None = None) -> "Document":
        """Return the document that YAML `text` holds; see `load`.

        Raises:
            ScenarioError: it is empty, or no YAML mapping.
        """
        data, marks = read_yaml(text, source)
        if data is None:
            raise ScenarioError(f"{source}: is empty, expected a scenario (see `simfl new`)")
        if not isinstance(data, dict):
            place = marks[()].value
            raise ScenarioError(f"{place}: expected a mapping such as `name: ...`, got {data!r}")
        return cls(data, marks, source, folder)

    @classmethod
    def of(cls, data: Mapping[str, Any], *, folder: Path | None = None) -> "Document":
        """Return plain data as a document without places; see `_plain`."""
        require_kind("scenario", data, Mapping, "a mapping such as {'name': ...}")
        return cls({key: _plain(value) for key, value in data.items()}, folder=folder)

    def set(self, *texts: str) -> "Document":
        """Return the document with changes such as ``rounds.clients=20`` made.

        Raises:
            ScenarioError: one of them is not ``PATH=VALUE``, or has no value.
        """
        changed = self
        for text in texts:
            require_kind("overrides", text, str, "texts such as 'rounds.clients=10'")
            source = called(f"--set {text}", f"overrides {text}")
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise ScenarioError(f"{source}: expected PATH=VALUE, such as rounds.clients=20")
            override = Override.read(parse_path(name.strip(), source), value, source)
            changed = changed.change(override)
            changed = replace(changed, overrides=(*changed.overrides, override))
        return changed

    def change(self, override: Override) -> "Document":
        """Return the document with one change made (see `simfl.scenario.overrides`)."""
        data, marks = apply(override, self.data, self.marks)
        return replace(self, data=data, marks=marks)

    def variant(self, name: str) -> list[Override]:
        """Return the changes that the variant `name` makes, in the order written.

        Raises:
            ScenarioError: a key is no path.
        """
        return [
            self.override(key, ("variants", name, key), value)
            for key, value in self.data["variants"][name].items()
        ]

    def override(self, key: str, written: Location, value: Any) -> Override:
        """Return the change of the path `key` to a `value` that is written at `written`.

        Raises:
            ScenarioError: the key is no path.
        """
        listed = isinstance(written[-1], int)  # then the key is that of the list
        place = self.place(written[:-1] if listed else written, key=True)
        path = parse_path(key, str(place))
        marks = {
            path + inner[len(written) :]: mark
            for inner, mark in self.marks.items()
            if inner[: len(written)] == written
        }
        return Override(path, value, {**marks, path: Marks(place, self.place(written))})

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


def within(whole: Any, path: Location) -> tuple[Location, Location]:
    """Return how far `path` leads in the data (past a fleet's only group), and the rest."""
    data, real = whole, cast(Location, ())
    for depth, key in enumerate(path):
        if isinstance(data, dict) and key == 0:
            continue
        try:
            data = data[key]
        except (LookupError, TypeError):
            return real, path[depth:]
        real = (*real, key)
    return real, ()


def safe_name(text: str) -> str:
    """Return `text` as the name of a folder on any system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "scenario"


def file_names(data: object) -> Iterator[str]:
    """Yield the files that plain data name, under keys such as `file`, and the modules."""
    return (name for _, name in files_named(data))


def files_named(data: object, path: Location = ()) -> Iterator[tuple[Location, str]]:
    """Yield those of `file_names`, and where each stands below `path`."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            names_file = key in ("file", "path") or str(key).endswith("_file")
            if isinstance(value, str) and (names_file or is_code(value)):
                yield (*path, key), value
            yield from files_named(value, (*path, key))
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for index, value in enumerate(data):
            if isinstance(value, str) and is_code(value):
                yield (*path, index), value
            yield from files_named(value, (*path, index))


def _plain(value: Any) -> Any:
    """Return a copy of `value` as YAML would have given it.

    Numbers of NumPy, pandas and PyTorch are Python's in it, what comes one by one is a list.
    """
    if hasattr(value, "tolist") and not isinstance(value, type):
        return value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | range | Iterator | KeysView | ValuesView):
        return [_plain(inner) for inner in value]
    return deepcopy(value)
