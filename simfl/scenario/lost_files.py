"""Files that a document names and that are not there, or can't be.

A component looks into its file once its scenario is made; where something is misspelt there is
none, and who mended that was told of the file only then.
"""

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from simfl.core.code import is_code
from simfl.core.files import similar_file
from simfl.core.ownership import is_simfls
from simfl.scenario.document import files_named
from simfl.scenario.language.place import Location
from simfl.scenario.paths import registry_at
from simfl.scenario.problems import Problem


def lost_files(
    data: Mapping[str, object], folder: Path | None, told: Sequence[Problem]
) -> Iterator[Problem]:
    """Yield the files that are not there, of simfl's own components of which nothing else is told.

    Args:
        data: what is written.
        folder: where relative files are looked up (None: the working directory).
        told: what else is wrong with it.
    """
    for path, name in files_named(data):
        file = (folder or Path()) / name
        if not is_code(name) and _is_lost(file) and _reads(data, path) and not _is_told(path, told):
            yield Problem(path, f"{file}: no such file{similar_file(file)}")


def impossible_names(data: Mapping[str, object], folder: Path | None) -> Iterator[Problem]:
    """Yield the names that no file or folder can have: looking for one is an error of its own.

    Args:
        data: what is written.
        folder: as of `lost_files`.
    """
    if folder is not None and (why := _why_impossible(folder)):
        yield Problem(("folder",), f"no folder can have such a name: {why}")
        return
    for path, name in files_named(data):
        if why := _why_impossible((folder or Path()) / name):
            yield Problem(path, f"no file can have such a name: {why}")


def _why_impossible(file: Path) -> str:
    try:
        file.stat()
    except ValueError:
        return "it holds a NUL character"
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return "it is too long"
    return ""


def _is_lost(file: Path) -> bool:
    try:
        return not file.exists()
    except OSError:  # nobody may look; whoever reads it tells
        return False


def _reads(data: Mapping[str, object], path: Location) -> bool:
    """Return whether simfl's own component has an option at `path`, which names what it reads."""
    registry = registry_at(path[:-1])
    if registry is None:
        return False
    written: object = data
    for key in path[:-1]:
        written = written[key]  # type: ignore[index]
    name = written.get("name", registry.default) if isinstance(written, Mapping) else None
    if not isinstance(name, str) or is_code(name) or name not in registry.names():
        return False
    kind = registry.get(name)
    return is_simfls(kind) and path[-1] in kind.model_fields


def _is_told(path: Location, told: Sequence[Problem]) -> bool:
    """Return whether something is wrong with what is at `path`, or with its component as such."""
    return any(problem.path in (path, path[:-1]) for problem in told)
