"""Finding runs below folders, and telling them apart."""

from collections import Counter
from collections.abc import Iterable, Sequence
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


def by_variant(results: Iterable[RunResult]) -> dict[str, list[RunResult]]:
    """Return runs by variant, in the order in which variants first come; seeds inside.

    Runs of several scenarios are told apart by the scenario's name, and runs of the same variant
    and seed, which can't all be repetitions of one thing, by where they are.
    """
    results = list(results)
    several = len({run.name for run in results}) > 1
    names = [f"{run.name}/{run.variant}" if several else run.variant for run in results]
    runs_by_seed = Counter(zip(names, (run.seed for run in results), strict=True))
    repeated = {name for (name, _), count in runs_by_seed.items() if count > 1}
    groups: dict[str, list[RunResult]] = {}
    for name, run in zip(names, results, strict=True):
        where = f" in {_place(run)}" if name in repeated else ""
        groups.setdefault(name + where, []).append(run)
    return groups


def _place(run: RunResult) -> Path:
    """Return the folder that holds a run's variants, or the run's own if it was put elsewhere."""
    usual = Path(run.variant) / f"seed-{run.seed}"
    return run.folder.parent.parent if run.folder.parts[-2:] == usual.parts else run.folder
