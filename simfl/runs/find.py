"""Finding runs below folders."""

from collections.abc import Sequence
from pathlib import Path

from simfl.errors import InputError
from simfl.runs.folder import PROVENANCE, is_run
from simfl.runs.result import RunResult


def load(folder: str | Path) -> RunResult:
    """Return the result in a run folder.

    Raises:
        InputError: it is not one.
    """
    if not is_run(Path(folder)):
        raise InputError(f"{folder} is not a run folder")
    return RunResult(Path(folder))


def find_runs(paths: Sequence[Path]) -> list[RunResult]:
    """Return the runs in and below `paths`, finished or not, in order of path, each once.

    Raises:
        InputError: there is none below one of them.
    """
    folders: list[Path] = []
    for path in paths:
        below = run_folders(path)
        if not below:
            raise InputError(f"{path} holds no run" if path.exists() else f"{path}: no such folder")
        folders += below
    return [RunResult(folder) for folder in {path.resolve(): path for path in folders}.values()]


def run_folders(path: Path) -> list[Path]:
    """Return `path` if it is a run's folder, else those below it, in order."""
    below = (file.parent for file in path.rglob(PROVENANCE))
    return [path] if is_run(path) else sorted(folder for folder in below if is_run(folder))
