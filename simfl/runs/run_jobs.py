"""Do several runs, new ones or interrupted ones, as many at once as there is room for."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from simfl.build.shared_data import key_to_share
from simfl.core.arguments import called
from simfl.core.blame import told_of_owner
from simfl.core.machine.memory import require_room_for_torch
from simfl.errors import ComponentError, InputError, SimflError
from simfl.runs.folder.folder import SCENARIO, is_finished
from simfl.runs.folder.json_files import read_provenance
from simfl.runs.folder.lock import refuse_locked
from simfl.runs.job import Job
from simfl.runs.many import Watch, do_all
from simfl.runs.options import LOGS, Options
from simfl.runs.progress import Progress, Tell
from simfl.runs.results.result import RunResult
from simfl.runs.reuse import holds, keeps, refuse_foreign, refuse_to_lose_weights
from simfl.runs.run import builder_of, resume, run_one
from simfl.runs.tracking import tracking
from simfl.scenario import Scenario
from simfl.scenario.checks import one_of_each, refuse
from simfl.sim.timeline import Listener

_LOG = logging.getLogger(__name__)

_Decided = Sequence[tuple[Job, bool]]
"""Jobs, each with whether the run in its folder is kept, finished or to be resumed."""


def run_jobs(
    todo: Sequence[Job],
    options: Options | None = None,
    overwrite: bool = False,
    listen: Callable[[Job], Sequence[Listener]] | None = None,
    go_on: bool = False,
    watch: Watch | None = None,
    tell_reuse: bool = True,
) -> list[RunResult]:
    """Do some jobs; return their results in that order.

    Args:
        todo: the jobs.
        options: how to run.
        overwrite: replace what is in the run folders; else finished runs of the same scenario are
            reused.
        listen: returns who is to be told of everything that happens in a run; all runs are then
            made in this process.
        go_on: resume interrupted runs; with `overwrite`, replace only runs of other scenarios.
        watch: is told now and then how far the runs are.
        tell_reuse: whether it is logged, at level WARNING, which finished runs are reused.

    Raises:
        InputError: a job can't be done; nothing was written.
        RunError: runs failed, while the others were finished; their folders stay readable and can
            be resumed.
    """
    options = options or Options()
    refuse(one_of_each((job.variant, job.scenario) for job in todo), trains=not options.time_only)
    options.torch_device()  # one that is not there is refused, whatever is left to do
    decided = [(job, is_kept(job, options, overwrite, go_on)) for job in todo]
    replaced = [job.folder for job, keep in decided if not keep]
    refuse_to_lose_weights(
        (job.scenario for job in todo), replaced, f"another {called('--out', 'out')} or name"
    )
    if tell_reuse:
        _tell_reuse(decided, options, overwrite)
    _do_unfinished(decided, options, watch, listen, overwrite)
    return [RunResult(job.folder) for job in todo]


def resume_all(
    folders: Sequence[Path], options: Options | None = None, watch: Watch | None = None
) -> list[RunResult]:
    """Go on with the interrupted runs in `folders`, as many at once as there is room for.

    Args:
        folders: of runs; those that are finished are left as they are.
        options: where to compute and where the data lie; see `resume`.
        watch: is told now and then how far the runs are.

    Raises:
        InputError: another process works on one of them, or it can't be resumed.
        RunError: runs failed, while the others were finished.
    """
    origins = [read_provenance(folder) for folder in folders]
    decided = [
        (Job(origin["variant"], Scenario.load(folder / SCENARIO), folder), True)
        for origin, folder in zip(origins, folders, strict=True)
    ]
    # Each goes on as it was begun; how many at once depends on that.
    device = next((origin["device"] for origin in origins if origin["device"] != "cpu"), "cpu")
    time_only = all(origin["time_only"] for origin in origins)
    options = replace(options or Options(), device=device, time_only=time_only)
    _do_unfinished(decided, options, watch)
    return [RunResult(folder) for folder in folders]


def _do_unfinished(
    decided: _Decided,
    options: Options,
    watch: Watch | None = None,
    listen: Callable[[Job], Sequence[Listener]] | None = None,
    overwrite: bool = False,
) -> None:
    """Do those jobs that are not finished; a kept run is resumed."""
    if options.executor == "ray":  # whose processes may have another working directory
        decided = [(replace(job, folder=job.folder.resolve()), keep) for job, keep in decided]
    decided = [(job, keep) for job, keep in decided if not (keep and is_finished(job.folder))]
    todo = [job for job, _ in decided]
    if todo and not options.time_only:
        require_room_for_torch()
    refuse_locked(job.folder for job in todo)  # two at it would get half of the runs each
    options = _with_data_folder(todo, options)
    calls = [
        partial(_do, job, keep, options, overwrite, _listeners(listen, job) if listen else ())
        for job, keep in decided
    ]
    checked = _first_of_each([job for job, keep in decided if not keep])
    checks = [partial(_check, job, options) for job in checked]
    if options.executor == "ray" and len(calls) > 1 and listen is None:
        from simfl.runs.pools.ray import call_all

        for check in checks:
            check(lambda _: None)
        folder = options.data_folder()
        data = [key_to_share(job.scenario.data, folder) for job in todo]
        call_all(calls, options.executor_options.get("address"), options.workers, data)
    else:
        in_this_process = listen is not None
        do_all(todo, calls, options, watch, in_this_process, checks, checked)


def _listeners(listen: Callable[[Job], Sequence[Listener]], job: Job) -> Sequence[Listener]:
    """Return who is to be told of what happens in a run.

    Raises:
        InputError: they are not several that can be called.
    """
    listeners = listen(job)
    if isinstance(listeners, Iterable) and all(map(callable, listeners := [*listeners])):
        return listeners
    raise InputError(
        f"listen: expected a function that returns a list of listeners, got one that returns "
        f"{listeners!r}"
    )


def _first_of_each(todo: Sequence[Job]) -> list[Job]:
    """Return what is checked before any run: the first of each of several variants."""
    of_variant = {job.variant: job for job in reversed(todo)}
    if len(of_variant) < 2:
        return []  # its first run tells it at once
    return [*reversed(of_variant.values())]


def _check(job: Job, options: Options, _: Tell | None) -> None:
    """Tell that a variant can't be run."""
    with _blaming_owners(), closing(options.make_executor()) as executor:
        builder_of(job.scenario, options, executor).check()


def _with_data_folder(todo: Sequence[Job], options: Options) -> Options:
    """Return `options` with the data folder named in full: processes may be somewhere else."""
    needs_files = any(job.scenario.data.dataset.needs_files for job in todo)
    folder = options.data_folder() if needs_files else None
    return replace(options, data_dir=None if folder is None else folder.resolve())


def _do(
    job: Job,
    keep: bool,
    options: Options,
    overwrite: bool,
    listeners: Sequence[Listener] = (),
    tell: Tell | None = None,
) -> None:
    """Make a run or, where it is to `keep` what there is, go on with it; see `run_jobs`."""
    if tell is not None:
        tell(Progress())
    with _blaming_owners(), tracking(job.folder, job.scenario.log) as trackers:
        if keep:
            resume(job.folder, options, [*listeners, *trackers], tell)
        else:
            run_one(job, options, [*listeners, *trackers], tell, overwrite=overwrite)


@contextmanager
def _blaming_owners() -> Iterator[None]:
    """Tell whose an error is, if it is that of somebody's component."""
    try:
        yield
    except SimflError:
        raise
    except Exception as error:
        if told := told_of_owner(error):
            raise ComponentError(told) from error
        raise


def is_kept(job: Job, options: Options, overwrite: bool, go_on: bool) -> bool:
    """Return whether the run in a job's folder is kept, finished or to be resumed; see `run_jobs`.

    Raises:
        InputError: what the folder holds would be lost, or another process works on it.
    """
    if overwrite and not (go_on and holds(job, options.time_only)):
        refuse_foreign(job.folder)
        return False
    return keeps(job, options.time_only, go_on)


def _tell_reuse(decided: _Decided, options: Options, overwrite: bool) -> None:
    """Tell in a line how many finished runs are reused, and what was not made as it is asked for.

    That is by another kind of device, or with less of a log.
    """
    reused = [job.folder for job, keep in decided if keep and is_finished(job.folder)]
    if not reused:
        return
    origins = [read_provenance(folder) for folder in reused]
    devices, device = sorted({str(own["device"]) for own in origins}), options.torch_device()
    alike = {name.partition(":")[0] for name in devices} == {device.partition(":")[0]}
    logs = {str(own.get("log", LOGS[0])) for own in origins}
    less = [log for log in LOGS[LOGS.index(options.log) + 1 :] if log in logs]
    _LOG.warning(
        "%s there already, finished%s%s: the results are reused; %s%s computes them again",
        "this very run is" if len(decided) == 1 else f"{len(reused)} of {len(decided)} runs are",
        "" if alike else f", computed on {' and '.join(devices)}",  # not the same bits
        f", recorded with {called('--log', 'log')} {' and '.join(less)}" if less else "",
        called("--overwrite", "overwrite=True"),
        " alone" if overwrite else "",
    )
