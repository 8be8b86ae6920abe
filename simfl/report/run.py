"""`simfl.run`: what the command does, for Python: arguments are checked, progress is shown."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simfl.core.arguments import require_kind, require_several
from simfl.errors import InputError
from simfl.report.progress import display, is_watched
from simfl.report.results import Results
from simfl.runs.job import Job, jobs, refuse_an_idle_seed
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.run_jobs import run_jobs
from simfl.scenario import Document, Scenario
from simfl.sim.timeline import Listener


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario | Document,
    out: str | Path | None = None,
    options: Options | None = None,
    overwrite: bool = False,
    seeds: Sequence[int] | None = None,
    listen: Callable[[Job], Sequence[Listener]] | None = None,
    go_on: bool = False,
    watch: Watch | None = None,
    variants: Sequence[str] | None = None,
    progress: bool | None = None,
    overrides: Sequence[str] = (),
) -> Results:
    """Run every variant and seed of `scenario`; return their results in that order.

    Args:
        scenario: what to run: a file, the plain data of one, or what was made of it.
        out: the folder of run folders (None: ``runs/NAME``).
        options: how to run.
        overwrite: replace what is in the run folders; else finished runs of the same scenario are
            reused.
        seeds: instead of the scenario's own.
        listen: returns who is to be told of everything that happens in a run.
        go_on: resume interrupted runs; with `overwrite`, replace only runs of other scenarios.
        watch: is told now and then how far the runs are, instead of showing it.
        variants: only these (None: all).
        progress: show how far the runs are (None: on a terminal and in a notebook).
        overrides: changes such as ``rounds.clients=10``, as ``--set`` makes them, to all variants.

    Raises:
        InputError: the scenario can't be run; nothing was written.
        RunError: runs failed; their folders stay readable and can be resumed.
    """
    require_several("seeds", seeds, "[0, 1, 2]")
    require_several("variants", variants, "['default']")
    require_several("overrides", overrides, "['rounds.clients=10']")
    require_kind("options", options, Options | None, "Options such as Options(jobs=2)")
    place = folder_called(out)
    for name, given in (("overwrite", overwrite), ("go_on", go_on)):
        require_kind(name, given, bool, "True or False")
    require_kind("progress", progress, bool | None, "True, False or None")
    require_kind("watch", watch, Watch | None, "a Watch (simfl.runs.many)")
    if not (listen is None or callable(listen)):
        raise InputError(f"listen: expected a function that takes a Job, got {listen!r}")
    written = _read(scenario, overrides)
    shown = is_watched() if progress is None else progress
    with display(quiet=not shown or watch is not None) as board:
        todo = jobs(written, place, seeds, variants)
        if seeds is None and isinstance(written, Document):
            refuse_an_idle_seed(written, (job.scenario.seed for job in todo))
        return Results(run_jobs(todo, options, overwrite, listen, go_on, watch or board))


def folder_called(out: str | Path | None) -> Path | None:
    """Return the folder that a caller names for runs (None: none).

    Raises:
        InputError: it is none, or empty.
    """
    require_kind("out", out, str | Path | None, "a folder such as 'runs/mine'")
    if out == "":  # which as a path would be the working directory
        raise InputError("out is empty; is a variable not set?")
    return None if out is None else Path(out)


def _read(
    scenario: str | Path | Mapping[str, Any] | Scenario | Document, overrides: Sequence[str]
) -> Scenario | Document:
    """Return what was given for a scenario as what jobs are made of, changed by `overrides`."""
    if isinstance(scenario, str | Path):
        scenario = Document.load(scenario)
    elif isinstance(scenario, Mapping):
        scenario = Document.of(scenario)
    elif not isinstance(scenario, Scenario | Document):
        raise InputError(f"expected a scenario (a path, a mapping or a Scenario), got {scenario!r}")
    if not overrides:
        return scenario
    if isinstance(scenario, Scenario):
        scenario = Document.of(scenario.to_dict(), folder=scenario.folder)
    return scenario.set(*overrides)
