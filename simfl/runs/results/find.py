"""Finding runs below folders."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from simfl.core.words import natural
from simfl.errors import InputError
from simfl.runs.folder.folder import (
    PROVENANCE,
    given_run,
    is_run,
    refuse_torn,
    study_folder,
    usual_place,
)
from simfl.runs.folder.json_files import read_json
from simfl.runs.results.result import RunResult


def load(folder: str | os.PathLike[str]) -> RunResult:
    """Return the result in a run folder.

    Raises:
        InputError: it is not one.
    """
    return RunResult(given_run(folder))


def find_runs(paths: Sequence[Path]) -> list[RunResult]:
    """Return the runs in and below `paths`, finished or not, each once.

    They come in the order of `paths`, below each as `run_folders` has them.

    Raises:
        InputError: there is none below one of them, or a folder can't be looked into.
    """
    folders: list[Path] = []
    for path in paths:
        below = run_folders(path)
        if not below:
            raise InputError(f"{path} holds no run" if path.exists() else f"{path}: no such folder")
        folders += below
    return [RunResult(folder) for folder in {path.resolve(): path for path in folders}.values()]


def runs_of_study(top: Path) -> list[RunResult]:
    """Return the runs in `top`/VARIANT/seed-N, whoever made them, as `run_folders` orders them.

    What links lead to belongs to some other study, or is here already.
    """
    folders = [file.parent for file in top.glob(f"*/*/{PROVENANCE}")]
    here = [f for f in folders if f.resolve() == top.resolve() / f.relative_to(top)]
    return [RunResult(folder) for folder in sorted(here, key=study_order) if is_run(folder)]


def study_of(runs: Iterable[RunResult]) -> Path | None:
    """Return the folder of the one study that all of `runs` belong to (None: there is none)."""
    tops = {_study_folder(run) for run in runs}
    top = tops.pop() if len(tops) == 1 else None
    return None if top is None else _as_seen(top)


def _study_folder(run: RunResult) -> Path | None:
    return study_folder(run.folder.resolve(), run.variant, run.seed)


def unbegun(runs: Iterable[RunResult]) -> list[Path]:
    """Return the folders of runs that were asked for together with `runs` and never begun.

    Of runs that were put somewhere else nothing is known.
    """
    studies: dict[tuple[Path, tuple[str, ...], tuple[int, ...]], None] = {}
    for run in runs:
        if (top := _study_folder(run)) is not None:
            studies[top, *_study(run)] = None
    asked = (
        top / usual_place(variant, seed)
        for top, variants, seeds in studies
        for variant, seed in product(variants, seeds)
    )
    return [_as_seen(folder) for folder in dict.fromkeys(asked) if not is_run(folder)]


def _study(run: RunResult) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the variants and seeds that were asked for together with a run (older ones: none)."""
    study = run.provenance.get("study", {})
    return tuple(study.get("variants", ())), tuple(study.get("seeds", ()))


def _as_seen(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def run_folders(path: Path) -> list[Path]:
    """Return `path` if it is a run's folder, else those below it, each once.

    The runs of a study come in the order in which its variants are written, and by seed.

    Raises:
        InputError: one of them has lost its scenario, or can't be looked into.
    """
    if is_run(path):
        return [path]
    below = [Path(top) for top, files in _walk(path) if PROVENANCE in files]
    for folder in below:
        refuse_torn(folder)
    return sorted(below, key=study_order)


def _walk(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder in and below `path` once, and its files.

    Links to folders are followed, but for those that lead up and out.
    """
    root, seen = os.path.realpath(path), set[str]()
    for top, folders, files in os.walk(path, onerror=_refuse, followlinks=True):
        place = os.path.realpath(top)
        if place in seen or root.startswith(os.path.join(place, "")):
            folders.clear()
            continue
        seen.add(place)
        folders.sort(key=lambda name: os.path.islink(os.path.join(top, name)))  # links come last
        yield top, files


def _refuse(error: OSError) -> None:
    """Refuse to leave out what can't be looked into; what is gone holds nothing."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return
    raise InputError(f"{error.filename} can't be read: {error.strerror}")


def study_order(folder: Path) -> tuple[Any, ...]:
    """Return what run folders are sorted by: study, place of the variant in it, seed.

    Numbers in the names of folders ascend.  A fork has the place of the run that it comes from, and
    follows it.
    """
    try:
        written = read_json(folder / PROVENANCE)
    except InputError:  # told when it is asked for
        written = {}
    place, forks = written.get("place", 0), len(written.get("forks", ()))
    variant = [natural(part) for part in folder.parent.parts]
    return variant[:-1], place, forks, variant, written.get("seed", 0), folder
