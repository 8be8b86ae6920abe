"""The JSON files of a run's folder: written whole, and refused where they are damaged."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from simfl.core.files import write_output
from simfl.errors import InputError
from simfl.runs.folder.folder import PROVENANCE, SUMMARY
from simfl.runs.folder.kinds import require_sound_json


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all.

    Raises:
        InputError: it can't be there.
        RunError: the disk is full.
    """
    write_output(path, (json.dumps(value, indent=2) + "\n").encode())


class _Content(dict[str, Any]):
    """An object of a JSON file, which is damaged if it lacks what somebody looks up."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        super().__init__(content)
        self._path = path

    def __missing__(self, key: str) -> Any:
        raise InputError(f"{self._path} is damaged: it has no {key!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _Content, (self._path, dict(self))


_CURES = {
    SUMMARY: "; delete it, and `simfl resume` makes it again",
    PROVENANCE: "; without it a run can't be told from others: `simfl run` of its scenario with "
    "--overwrite makes it anew",
}
"""What may be done about a damaged file."""

_IN_EVERY_PROVENANCE = ("variant", "seed", "time_only", "device", "scenario_sha256")
"""What each run's provenance has, however old."""


def read_json(path: Path) -> dict[str, Any]:
    """Return what a JSON file holds.

    Raises:
        InputError: it is missing or damaged; also later, when what it lacks is looked up.
    """
    cure = _CURES.get(path.name, "")
    try:
        text = path.read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text, object_hook=partial(_Content, path))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}{cure}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: is no JSON object")
    require_sound_json(content, path, cure)
    return content


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return how the run in `folder` was made; `forks` is there, if only as an empty list.

    Raises:
        InputError: it is missing or damaged.
    """
    provenance = {"forks": [], **read_json(folder / PROVENANCE)}
    if missing := [name for name in _IN_EVERY_PROVENANCE if name not in provenance]:
        raise InputError(f"{folder / PROVENANCE} is damaged: it has no {missing[0]!r}")
    return provenance
