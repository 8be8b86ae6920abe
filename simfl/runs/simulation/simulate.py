"""One run: the clock from its start to its end, and what came of it in the run's folder."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from simfl.build.builder import Builder
from simfl.components.datasets.elsewhere import Elsewhere
from simfl.core.code import is_code
from simfl.core.component import Component
from simfl.core.files import write_output
from simfl.core.machine.garbage import few_collections
from simfl.errors import RunError, SimflError
from simfl.runs.folder.folder import PROVENANCE, SUMMARY, is_run, resuming
from simfl.runs.folder.json_files import read_provenance, write_json
from simfl.runs.folder.recorder import Recorder
from simfl.runs.folder.stages import rule_changes
from simfl.runs.folder.summary import Summary
from simfl.runs.privacy import privacy_spent
from simfl.runs.progress import Reporter
from simfl.runs.results.result import RunResult
from simfl.runs.simulation.hidden_randomness import telling_of_hidden_randomness
from simfl.runs.simulation.recorded_server import recorded_server
from simfl.runs.simulation.unsaved_state import telling_of_unsaved_state
from simfl.scenario.checks import components
from simfl.sim.rounds import run_rounds
from simfl.sim.server.server import Server
from simfl.sim.timeline import Listener, Timeline

AT = "\nit was at "
"""Where a run failed, behind why it did."""


def simulate(
    folder: Path,
    builder: Builder,
    listeners: Sequence[Listener],
    every_s: float,
    reporter: Reporter | None = None,
    forks: Sequence[tuple[float, Builder]] = (),
) -> RunResult:
    """Run the clock to the end and write what came of it.

    What was recorded before is replayed: up to the last checkpoint without training.

    Args:
        folder: of the run, with what was recorded of it before, if anything.
        builder: makes its parts.
        listeners: told of everything, what is replayed included.
        every_s: host seconds between checkpoints, at least.
        reporter: tells now and then how far it is.
        forks: from when on other builders' rules are in force, in their order.

    Raises:
        RunError: the run failed, or what is replayed differs from the records.
    """
    began = time.perf_counter()
    scenario, coordinator, timeline = builder.scenario, builder.coordinator, Timeline()
    powered = RunResult(folder).powered
    summary = Summary(scenario.evaluation.targets, scenario.devices, powered=powered)
    rules = [builder, *(later for _, later in forks)]
    parts = [part for stage in rules for _, part in components(stage.scenario)]
    noting = _noting_failure(folder, timeline, summary, parts)
    with noting, telling_of_hidden_randomness(parts), telling_of_unsaved_state(parts):
        with closing(Recorder(folder, builder.settings.row)) as recorder:
            server, answers = recorded_server(folder, builder, timeline, recorder, every_s)
            timeline.listen(summary.listen, summary.kinds)
            for listener in listeners:
                timeline.listen(listener)
            if reporter is not None:
                reporter.follow(server)
            with few_collections():
                policy = scenario.rounds.policy.fresh()
                changes = list(rule_changes([(0.0, builder), *forks], server, answers))
                timeline.run(until=timeline.process(run_rounds(server, policy, changes)))
            coordinator.ledger.check()
        facts = summary.as_dict(timeline.now) | _privacy(rules, summary)
        _write_results(folder, rules, server, recorder, facts, began)
    return RunResult(folder)


@contextmanager
def _noting_failure(
    folder: Path, timeline: Timeline, summary: Summary, parts: Sequence[Component]
) -> Iterator[None]:
    """Note in the provenance that the run fails, if it does, and tell how to go on.

    Args:
        folder: of the run.
        timeline: its clock.
        summary: of what has happened so far.
        parts: the components of its scenarios.
    """
    provenance = read_provenance(folder)
    if provenance.pop("failed", None):  # before: it is tried again
        write_json(folder / PROVENANCE, provenance)
    try:
        yield
    except Exception as error:
        if not is_run(folder):
            raise RunError(
                f"{folder} was moved or removed meanwhile ({error}); where it was moved to, "
                "`simfl resume` goes on from the last checkpoint"
            ) from error
        told = f"{error}" if isinstance(error, SimflError) else f"{type(error).__name__}: {error}"
        failed = {"round": summary.rounds + 1, "error": told}
        with suppress(SimflError):  # the disk may be full
            write_json(folder / PROVENANCE, {**provenance, "failed": failed})
        if not isinstance(error, RunError):
            raise
        raise type(error)(
            f"{error}{AT}{timeline.now:g} s of virtual time; once that is mended, "
            f"{_how_to_go_on(folder, parts)}"
        ) from error


def _how_to_go_on(folder: Path, parts: Sequence[Component]) -> str:
    """Say how to go on with a run of these components once what it failed of is mended."""
    if any(isinstance(part, Elsewhere) for part in parts):
        return "run it again from Python, with `overwrite`"
    changed = " --allow-code" if any(is_code(part.name) for part in parts) else ""  # once mended
    return f"`{resuming(folder)}{changed}` goes on from the last checkpoint"


def _privacy(rules: Sequence[Builder], summary: Summary) -> dict[str, Any]:
    """Return what a summary says of the privacy that was spent ({}: the run protects none)."""
    spent = privacy_spent([stage.scenario for stage in rules], summary.spent)
    return {} if spent is None else {"privacy": spent}


def _write_results(
    folder: Path,
    rules: Sequence[Builder],
    server: Server,
    recorder: Recorder,
    facts: Mapping[str, Any],
    began: float,
) -> None:
    """Write what came of a run, beside what was recorded as it went on.

    Args:
        folder: of the run.
        rules: what made its parts, and after each fork its rules; the first has the coordinator.
        server: at its end.
        recorder: of its events, closed.
        facts: of its summary.
        began: when it did, this time, on `time.perf_counter`.
    """
    provenance = read_provenance(folder)  # of a folder that is gone nothing is made anew
    for name, data in rules[0].coordinator.artifacts().items():
        write_output(folder / name, data)
    oracle = any(stage.scenario.selection.oracle for stage in rules)
    write_json(folder / SUMMARY, _summary(rules[0], server, facts, recorder, oracle))
    host_s = provenance.get("host_s", 0.0) + time.perf_counter() - began
    write_json(folder / PROVENANCE, {**provenance, "host_s": host_s})


def _summary(
    builder: Builder, server: Server, facts: Mapping[str, Any], recorder: Recorder, oracle: bool
) -> dict[str, Any]:
    """Return what `summary.json` says: `facts`, which the events tell, and what else is known."""
    ledger = builder.coordinator.ledger
    return {
        "name": builder.scenario.name,
        "seed": builder.scenario.seed,
        "finished": server.why_finished,
        "time_only": builder.time_only,
        "oracle": oracle,
        **facts,
        "unpowered": builder.scenario.unpowered,
        "trainings": {
            "issued": ledger.issued,
            "computed": 0 if builder.time_only else ledger.computed,
            "dropped": ledger.dropped,
            "open": len(ledger.open),
        },
        "events_sha256": recorder.events.digest,
    }
