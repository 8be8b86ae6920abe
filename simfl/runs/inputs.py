"""What a run rests on beside its scenario: the files and the code that it names, by contents.

A selector of the user's own is changed and run again: the scenario says the same, the result would
be another.  So a run's provenance has a digest of each such file.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from simfl.core.code import is_code
from simfl.core.file_tree import files_below, tree_version
from simfl.scenario.document import file_names
from simfl.scenario.scenario import Scenario

_INSTALLED = ("site-packages", "dist-packages")


def contents(scenario: Scenario) -> dict[str, str]:
    """Return the SHA-256 of each file that `scenario` names, in the order of their names.

    They are called as they are written, modules as the file that they lie in, and a notebook's
    class as it is named.  With a module come those beside it that were imported.  Of a folder it is
    that of its files' names and contents.  What can't be read, and what is installed, is left out.
    """
    root = scenario.root.resolve()
    named = set(file_names(scenario.to_dict()))
    files = {name: root / name for name in named if not is_code(name)}
    modules = [file for name in named if is_code(name) if (file := _module(root, name)) is not None]
    for file in modules:
        files |= {_called(path, root): path for path in (file, *_imported_beside(file))}
    digests = {name: _digest_of(files[name]) for name in sorted(files)}
    digests |= {name: _digest_of_cell(name) for name in named if name.startswith("__main__:")}
    return {name: digest for name, digest in sorted(digests.items()) if digest}


def changed(recorded: Mapping[str, Any], scenario: Scenario) -> list[str]:
    """Return which files have other contents now than when a run of `scenario` was begun.

    Args:
        recorded: the run's provenance; one that is older than these digests says nothing.
        scenario: of the run.
    """
    if not (then := recorded.get("files")):
        return []
    now = contents(scenario)
    return [name for name in now if name in then and then[name] != now[name]]


def _module(root: Path, name: str) -> Path | None:
    """Return the file of ``path.py:Class`` or ``module:Class``, beside a scenario or imported."""
    module = name.partition(":")[0]
    if module.endswith(".py"):
        candidates = [(root / module).resolve()]
    else:
        stem = root.joinpath(*module.split("."))
        candidates = [stem / "__init__.py", stem.with_suffix(".py")]
    if (file := next((file for file in candidates if file.is_file()), None)) is not None:
        return file
    path = _source(module)
    ours = path is None or module.partition(".")[0] == "simfl" or {*_INSTALLED} & {*path.parts}
    return None if ours else path


def _source(module: str) -> Path | None:
    """Return the file that a module was imported from, if it is there."""
    source = getattr(sys.modules.get(module), "__file__", None)
    path = None if source is None else Path(source).resolve()
    return path if path is not None and path.is_file() else None


def _digest_of_cell(name: str) -> str:
    """Return the digest of a class that a notebook's cell has ("": it can't be had).

    A cell is no file: it is that of the code of the class, compiled.
    """
    main = sys.modules["__main__"]
    written = getattr(main, name.partition(":")[2], None)
    if written is None or _source("__main__") is not None:  # a script's file tells
        return ""
    parts = [(key, _compiled(value)) for key, value in sorted(vars(written).items())]
    return sha256(repr(parts).encode()).hexdigest()


def _compiled(value: object) -> object:
    """Return what a function does, a plain value itself, and of all else what type it is."""
    value = getattr(value, "__func__", value)  # of a class or static method
    if isinstance(value, FunctionType):
        named = tuple(sorted((value.__kwdefaults__ or {}).items()))
        return _compiled((value.__code__, value.__defaults__, named))
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, _compiled(value.co_consts)
    if isinstance(value, tuple | list):
        return [_compiled(one) for one in value]
    if isinstance(value, frozenset | set):
        return sorted(repr(_compiled(one)) for one in value)
    return value if isinstance(value, int | float | str | bytes | None) else str(type(value))


def _imported_beside(file: Path) -> Iterator[Path]:
    below = os.path.join(file.parent, "")  # thousands of modules: text is quicker
    for name, module in list(sys.modules.items()):
        if name == "__main__" or name.partition(".")[0] == "simfl":
            continue
        if (source := getattr(module, "__file__", None)) and _place(source).startswith(below):
            yield Path(_place(source))


@lru_cache(maxsize=1 << 14)
def _place(source: str) -> str:
    """Return where a module lies, links followed ("": it is installed)."""
    path = Path(source).resolve()
    return "" if {*_INSTALLED} & {*path.parts} else str(path)


def _called(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)


def _digest_of(path: Path) -> str:
    """Return the digest of a file or folder ("": there is nothing that can be read)."""
    try:
        if path.is_dir():
            return _digest_of_folder(path, tree_version(path))
        told = path.stat()
        return _digest(path, told.st_mtime_ns, told.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=256)
def _digest_of_folder(folder: Path, _version: int) -> str:
    """Return the digest of all files below a folder, read once for all runs of a study."""
    digest = sha256()
    for name, _ in files_below(folder):
        with (folder / name).open("rb") as opened:
            contents = file_digest(opened, "sha256").digest()
        digest.update(sha256(name.encode(errors="surrogateescape")).digest() + contents)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _digest(file: Path, _changed_ns: int, _bytes: int) -> str:
    """Return the digest of a file, read once for all runs of a study."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
