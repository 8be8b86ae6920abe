"""What `simfl run --dry-run` says."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from simfl.core.machine.limits import cores
from simfl.report import formats
from simfl.runs.estimate import ROUNDS, Estimate, estimate
from simfl.runs.folder.folder import is_finished
from simfl.runs.many import cores_each, planned, shared_bytes
from simfl.runs.run_jobs import is_kept
from simfl.scenario.cautions import never_met
from simfl.scenario.checks import one_of_each, refuse
from simfl.scenario.language.place import dotted

if TYPE_CHECKING:
    from simfl.runs.job import Job
    from simfl.runs.options import Options

REUSED = "finished and reused"


def show_plan(
    jobs: "Sequence[Job]", options: "Options", overwrite: bool, go_on: bool, as_json: bool
) -> None:
    """Print a line for each variant, and what is left to do of all of them takes.

    Args:
        jobs: what is to be done.
        options: how.
        overwrite: replace what is in the run folders.
        go_on: resume interrupted runs; with `overwrite`, replace only runs of other scenarios.
        as_json: print an object for each run instead.

    Raises:
        InputError: they can't be run.
    """
    refuse(one_of_each((job.variant, job.scenario) for job in jobs), trains=not options.time_only)
    runs = [
        (job, _fate(job, options, overwrite, go_on), estimate(job.scenario, options))
        for job in jobs
    ]
    if as_json:
        typer.echo(json.dumps([_facts(*run) for run in runs], indent=2))
        return
    groups: dict[str, list[tuple[str, Estimate]]] = {}
    for job, fate, cost in runs:
        groups.setdefault(job.variant, []).append((fate, cost))
    width = max(map(len, groups))
    for variant, own in groups.items():
        typer.echo(f"{variant:{width}}  {_told(own)}")
    left = [(job, cost) for job, fate, cost in runs if fate != REUSED]
    nothing = f"{formats.plural(len(jobs), 'run')}: nothing is left to do"
    typer.echo(_in_all(left, options) if left else nothing)
    for line in _never_met((job for job, _ in left), trains=not options.time_only):
        typer.echo(line)


def _never_met(jobs: "Iterable[Job]", *, trains: bool) -> list[str]:
    """Return what was to end runs and may not."""
    cautions = (caution for job in jobs for caution in never_met(job.scenario, trains=trains))
    return [*dict.fromkeys(f"{dotted(path)}: {text}" for path, text in cautions)]


def _fate(job: "Job", options: "Options", overwrite: bool, go_on: bool) -> str:
    """Return what becomes of the run in a job's folder ("": the job is made)."""
    if not is_kept(job, options, overwrite, go_on):
        return ""
    return REUSED if is_finished(job.folder) else "gone on with"


def _in_all(runs: "Sequence[tuple[Job, Estimate]]", options: "Options") -> str:
    """Return what runs that are left to do take together on this machine."""
    jobs, estimates = [job for job, _ in runs], [cost for _, cost in runs]
    shared = shared_bytes(jobs, estimates)
    processes, at_disposal = planned(estimates, options, shared)
    lasts_s = [cost.lasts_s(cores_each(options, processes, at_disposal)) for cost in estimates]
    # More runs than cores take turns; how many cores a cluster has is not known here.
    abreast = processes if options.executor == "ray" else min(processes, cores())
    host_s = max(sum(lasts_s) / abreast, max(lasts_s))
    left = formats.plural(len(estimates), "run")
    caution = "it may be several times more or less"
    if not all(cost.counted for cost in estimates):
        caution = (
            f"where `rounds.stop` counts no rounds, that is for {ROUNDS}: many more may fit "
            "(`simfl fleet` tells how long one takes)"
        )
    if processes < 2:
        shared = 0.0
    each = max(cost.memory_bytes - (cost.shared_bytes if shared else 0.0) for cost in estimates)
    memory = f"{formats.size(formats.two_digits(each))} of memory each"
    if shared:
        memory += f" beside {formats.size(formats.two_digits(shared))} of data that they share"
    return (
        f"{left}, {processes} at a time: {formats.roughly(host_s)} on this machine "
        f"(starting and pages not counted), {_disk(estimates)} on disk, {memory}; "
        f"{caution}"
    )


def _facts(job: "Job", fate: str, cost: Estimate) -> dict[str, Any]:
    """Return what will become of a run, for programs."""
    place = {"variant": job.variant, "seed": job.scenario.seed, "folder": str(job.folder)}
    return {**place, "fate": fate or "made", **asdict(cost)}


def _told(runs: "Sequence[tuple[str, Estimate]]") -> str:
    """Return what the seeds of a variant are, what becomes of those there, what the others take."""
    fates = Counter(fate for fate, _ in runs if fate)
    first = runs[0][1]
    counted = f"{'about ' * first.about}{formats.plural(first.rounds, 'round')} each"
    rounds = counted if first.counted else "unknown how many rounds"
    parts = [formats.plural(len(runs), "seed"), rounds]
    parts += [f"{count} {fate}" for fate, count in fates.items()]
    left = [cost for fate, cost in runs if fate != REUSED]
    each = "" if first.counted else f"{ROUNDS} each would take "
    return f"{', '.join(parts)}{f'; {each}{_cost(left)}' if left else ''}"


def _cost(costs: Sequence[Estimate]) -> str:
    core_s = sum(cost.host_s for cost in costs)
    return f"{formats.roughly(core_s)} of one core, {_disk(costs)}"


def _disk(costs: Sequence[Estimate]) -> str:
    return formats.size(formats.two_digits(sum(cost.disk_bytes for cost in costs)))
