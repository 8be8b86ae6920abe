"""Many runs: here, one after the other, or several at once in processes of their own."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from simfl.build.model_facts import known_without_torch
from simfl.build.shared_data import DataKey, key_to_share
from simfl.core.arguments import called
from simfl.core.machine.allocator import freed_memory_returned
from simfl.core.machine.garbage import set_aside, tidy
from simfl.core.machine.limits import cores, free_memory
from simfl.core.machine.processes import can_travel
from simfl.core.seeds import Seeds
from simfl.core.words import few
from simfl.errors import InputError, RunError, SimflError
from simfl.runs.estimate import Estimate, estimate
from simfl.runs.folder.folder import resuming
from simfl.runs.job import Job
from simfl.runs.options import Options
from simfl.runs.pools.processes import call_all
from simfl.runs.pools.worker import Call, Died
from simfl.runs.progress import Progress
from simfl.runs.reuse import holds
from simfl.runs.simulation.simulate import AT

_LOG = logging.getLogger(__name__)

SMALL_S = 8.0
"""Estimated host seconds of all runs together that are not worth a process."""
MEMORY_SHARE = 0.8
"""Of the free memory that runs may take."""


class Watch:
    """Is told how far runs are, in the process that asked for them; by itself it does nothing."""

    def begin(self, jobs: Sequence[Job], processes: int) -> None:
        """Some runs are about to be made, so many at once."""

    def tell(self, number: int, progress: Progress) -> None:
        """Say how far the run of that number is, 0-based."""


def do_all(
    jobs: Sequence[Job],
    calls: Sequence[Call],
    options: Options,
    watch: Watch | None,
    here: bool,
    checks: Sequence[Call] = (),
    checked: Sequence[Job] = (),
) -> None:
    """Do all jobs.

    Args:
        jobs: what is done.
        calls: what does it, each with a function that takes `Progress`.
        options: how.
        watch: is told how far they are.
        here: whether all must be done in this process.
        checks: calls before these; where one fails, none of `calls` is made.
        checked: what each of the checks is of.

    Raises:
        InputError: one of them can't be done.
        RunError: some failed; the others are finished.
    """
    estimates = [] if len(jobs) < 2 or here else _estimates(jobs, options)
    processes, shared_cores = planned(estimates, options, shared_bytes(jobs, estimates))
    if processes > 1 and not all(map(can_travel, [*checks, *calls])):
        _LOG.info("one run after the other: they use something of the main module")
        processes = 1
    watch = watch or Watch()
    watch.begin(jobs, processes)
    if processes > 1:
        _download(jobs, options)
        costs = [*(0.0 for _ in checks), *(estimate.host_s for estimate in estimates)]
        first = len(checks)

        def tell(number: int, progress: Progress) -> None:
            watch.tell(number - first, progress)

        needs = not options.time_only or not all(known_without_torch(j.scenario) for j in jobs)
        folder = options.data_folder()
        data = [key_to_share(job.scenario.data, folder) for job in (*checked, *jobs)]
        failed = call_all(
            [*checks, *calls],
            costs,
            processes=processes,
            cores=shared_cores,
            tell=tell,
            first=first,
            needs_torch=needs,
            data=data,
        )
        if early := [failed[number] for number in range(first) if number in failed]:
            raise early[0]
        failures = {number - first: failure for number, failure in failed.items()}
    else:
        failures = _one_by_one(checks, calls, shared_cores, watch)
    if failures:
        raise _failure(jobs, failures, options.time_only)


def _estimates(jobs: Sequence[Job], options: Options) -> list[Estimate]:
    of_variant = {job.variant: job.scenario for job in jobs}  # seeds cost the same
    costs = {name: estimate(scenario, options) for name, scenario in of_variant.items()}
    return [costs[job.variant] for job in jobs]


def shared_bytes(jobs: Sequence[Job], estimates: Sequence[Estimate]) -> float:
    """Return the memory of all data sets that these jobs, estimated so, share."""
    of_key = list[tuple[DataKey, float]]()
    for job, cost in zip(jobs, estimates, strict=False):
        key = key_to_share(job.scenario.data, None)
        if key is not None and key not in (other for other, _ in of_key):
            of_key.append((key, cost.shared_bytes))
    return sum(n_bytes for _, n_bytes in of_key)


def planned(
    estimates: Sequence[Estimate], options: Options, shared: float = 0.0
) -> tuple[int, int]:
    """Return how many runs that cost so much are made at once, and how many cores they share.

    Args:
        estimates: of each.
        options: how they are run.
        shared: bytes of what they share.
    """
    auto = options.executor == "auto" and _on_cpu(options)
    most = options.jobs or (cores() if auto else 1)
    if options.jobs is not None:
        return max(min(most, len(estimates)), 1), most
    if len(estimates) < 2 or sum(estimate.host_s for estimate in estimates) < SMALL_S:
        return 1, most
    largest = max(estimate.memory_bytes - estimate.shared_bytes for estimate in estimates)
    room = MEMORY_SHARE * free_memory() - shared
    fitting = max(int(min(room / largest, most)), 1) if most > 1 else 1
    return min(most, len(estimates), fitting), most


def cores_each(options: Options, processes: int, shared: int) -> int:
    """Return how many cores train for one run, of `processes` at once which have so many `shared`.

    A cluster's are not known; all is said of one then, and of a GPU.
    """
    if options.executor not in ("auto", "processes") or not _on_cpu(options):
        return 1
    if options.executor == "processes":  # each run has all of its workers, on whatever is free
        shared = cores()
    free = max(shared // processes, 1)
    return min(options.workers or free, free)


def _on_cpu(options: Options) -> bool:
    """Return whether the CPU trains; a GPU that was named need not be there."""
    device = options.torch_device() if options.device == "auto" else options.device
    return device == "cpu"


def _download(jobs: Sequence[Job], options: Options) -> None:
    """Fetch data sets that are not there yet, lest several processes do it at once."""
    fetched = []
    for job in jobs:
        dataset = job.scenario.data.dataset
        if dataset.needs_files and dataset not in fetched and options.data_folder() is None:
            dataset.load(None, Seeds(job.scenario.seed))
            fetched.append(dataset)


def _one_by_one(
    checks: Sequence[Call], calls: Sequence[Call], cores: int, watch: Watch
) -> dict[int, BaseException]:
    """Make `checks`, then `calls`, in this process; return what failed of the calls, by number.

    Raises:
        InputError, RunError: a check fails, or the only call does.
    """
    from simfl.training.executors.auto import sharing

    failures: dict[int, BaseException] = {}
    with set_aside():
        for check in checks:
            check(lambda _: None)
            tidy()  # as after a run: each has dealt its own data
        with sharing(cores):
            for number, call in enumerate(calls):
                with freed_memory_returned():
                    try:
                        call(partial(watch.tell, number))
                    except (RunError, InputError) as error:  # what one seed draws may be refused
                        if len(calls) == 1:
                            raise
                        failures[number] = error
                    tidy()
    return failures


def _told(job: Job, failure: BaseException, time_only: bool) -> BaseException:
    if not isinstance(failure, Died):
        return failure
    if not holds(job, time_only):
        keeping = called("--resume", "go_on=True")
        return RunError(
            f"{failure}, before the run began; the same again, with {keeping}, makes it"
        )
    return RunError(f"{failure}; `{resuming(job.folder)}` goes on from the last checkpoint")


def _failure(
    jobs: Sequence[Job], failures: Mapping[int, BaseException], time_only: bool
) -> BaseException:
    """Return what to raise: several failures as one, with the runs that failed.

    What all runs failed of is told as it is, and so is what names its run itself.
    """
    numbers = sorted(failures)
    failures = {number: _told(jobs[number], failures[number], time_only) for number in numbers}
    first = failures[numbers[0]]
    if len({str(failure) for failure in failures.values()}) == 1:
        named = len(failures) == 1 and str(jobs[numbers[0]].folder) in str(first)
        if named or len(failures) == len(jobs):
            return first
    alike: dict[str, list[int]] = {}
    for number in numbers:
        alike.setdefault(str(failures[number]).partition(AT)[0], []).append(number)
    kind = type(first) if isinstance(first, SimflError) else RunError
    lines = []
    for same in alike.values():
        told = str(failures[same[0]])
        others = ", and so each of these runs" if len(same) > 1 and AT in told else ""
        lines.append(f"{few(jobs[number].title for number in same)}: {told}{others}")
    text = "\n".join(lines)
    try:
        return kind(text)
    except TypeError:  # it is made of something else
        return RunError(text)
