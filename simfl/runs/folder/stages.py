"""The stages of a run that was forked: the scenarios in force, and what each changes in it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from simfl.build.builder import Builder
from simfl.coordinators.replaying import ReplayingCoordinator
from simfl.runs.folder.folder import SCENARIO, past_names
from simfl.runs.folder.json_files import read_provenance
from simfl.scenario import Scenario
from simfl.sim.coordinator import Coordinator
from simfl.sim.rounds import RuleChange
from simfl.sim.server.server import Server

Stage = tuple[float, Scenario]
"""From when on, and the scenario in force from then."""


def stages(folder: Path) -> list[Stage]:
    """Return the scenarios of the run in `folder`, one unless it is a fork, in their order."""
    forks = read_provenance(folder)["forks"]
    files = [*past_names(len(forks)), SCENARIO]
    instants = [0.0, *(fork["at_s"] for fork in forks)]
    return [
        (at_s, Scenario.load(folder / file)) for at_s, file in zip(instants, files, strict=True)
    ]


def rule_changes(
    builders: Sequence[tuple[float, Builder]], server: Server, coordinator: Coordinator
) -> Iterator[RuleChange]:
    """Yield what the forks of a run change.

    Args:
        builders: of its stages.
        server: of the run.
        coordinator: who answers it.
    """
    live = builders[0][1].coordinator
    for (_, before), (at_s, after) in pairwise(builders):
        old, new = (_rules(builder.scenario) for builder in (before, after))
        if old == new:
            yield RuleChange(at_s, after.settings)
            continue
        same = {part for part in old if old[part] == new[part]}

        def adopt(rules: Builder = after, same: set[str] = same) -> None:
            live.adopt(rules.coordinator, same)
            rules.reveal(server)
            rules.refuse_endless(server)
            if isinstance(coordinator, ReplayingCoordinator):
                coordinator.pass_fork()

        scenario = after.scenario
        workload = None if "workload" in same else scenario.training.workload.fresh()
        yield RuleChange(at_s, after.settings, scenario.rounds.policy.fresh(), workload, adopt)


def _rules(scenario: Scenario) -> dict[str, Any]:
    """Return what decides who does what, by part: all rules but those that end the run."""
    written = scenario.to_dict()
    training, rounds = written["training"], dict(written["rounds"])
    del rounds["stop"]
    parts = {part: written[part] for part in ("training", "selection", "aggregation")}
    return (
        parts
        | {"rounds": rounds}
        | {key: training[key] for key in ("workload", "compression", "filter")}
    )
