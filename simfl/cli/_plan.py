"""What `simfl run --dry-run` says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from simfl.report import formats
from simfl.runs.estimate import Estimate, estimate
from simfl.runs.many import planned
from simfl.scenario.checks import refuse

if TYPE_CHECKING:
    from simfl.runs.job import Job
    from simfl.runs.options import Options


def show_plan(jobs: "Sequence[Job]", options: "Options") -> None:
    """Print a line for each variant, and what all of them take.

    Raises:
        ScenarioError: they can't be run.
    """
    refuse({job.variant: job.scenario for job in jobs}, trains=not options.time_only)
    estimates = [estimate(job.scenario, options.time_only) for job in jobs]
    groups: dict[str, list[Estimate]] = {}
    for job, cost in zip(jobs, estimates, strict=True):
        groups.setdefault(job.variant, []).append(cost)
    width = max(map(len, groups))
    for variant, costs in groups.items():
        seeds = formats.plural(len(costs), "seed")
        typer.echo(f"{variant:{width}}  {seeds}, {costs[0].rounds:,} rounds each; {_cost(costs)}")
    processes, _ = planned(estimates, options)
    host_s = max(
        sum(cost.host_s for cost in estimates) / processes, max(c.host_s for c in estimates)
    )
    runs = formats.plural(len(jobs), "run")
    memory = formats.size(formats.two_digits(max(cost.memory_bytes for cost in estimates)))
    typer.echo(
        f"{runs}, {processes} at a time: {formats.roughly(host_s)} on this machine "
        f"(starting and pages not counted), {_disk(estimates)} on disk, {memory} of memory each; "
        "it may be several times more or less"
    )


def _cost(costs: Sequence[Estimate]) -> str:
    core_s = sum(cost.host_s for cost in costs)
    return f"{formats.roughly(core_s)} of one core, {_disk(costs)}"


def _disk(costs: Sequence[Estimate]) -> str:
    return formats.size(formats.two_digits(sum(cost.disk_bytes for cost in costs)))
