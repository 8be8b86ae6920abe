"""What can't go with personal parameters, or with training them and shared ones in turn."""

from collections.abc import Iterator

from simfl.components.selectors.base import Selector
from simfl.core.circumstances import Circumstances
from simfl.core.component import overrides
from simfl.core.words import numbered
from simfl.scenario.language.place import Location
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.rounds import LIMITS


def personal(scenario: Experiment, facts: Circumstances) -> Iterator[tuple[Location, str]]:
    """Yield what has nothing to work on where parameters are personal, or none are."""
    yield from _of_epochs(scenario, facts)
    yield from _of_bytes(scenario, facts)
    yield from _of_selection(scenario, facts)


def _of_epochs(scenario: Experiment, facts: Circumstances) -> Iterator[tuple[Location, str]]:
    """Yield why `training.personal_epochs` leaves a part of the model without any epoch."""
    training, first = scenario.training, scenario.training.personal_epochs
    if first is None:
        return
    path = "training", "personal_epochs"
    if not scenario.model.personal:
        yield path, "no parameters are personal; name them in `model.personal`"
    elif (model := facts.architecture) is not None and model.all_personal:
        yield path, "all parameters are personal, so the epochs after these have none to train"
    if training.epochs is None:
        yield path, "local work is counted in `steps`; give `epochs`"
    elif first >= training.epochs:
        yield path, f"of {numbered(training.epochs, 'epoch')} it leaves none for shared parameters"
    if training.workload.coreset is not None:
        workload = training.workload.name
        yield path, f"can't go with workload {workload!r}, whose last epochs are over a coreset"


def _of_bytes(scenario: Experiment, facts: Circumstances) -> Iterator[tuple[Location, str]]:
    """Yield an end by bytes alone, where none are ever sent."""
    if not scenario.model.personal or facts.ends_by.intersection(LIMITS) != {"bytes"}:
        return
    selection = scenario.selection
    probes = overrides(selection, Selector.probe) and selection.charge_probes
    asks = probes or selection.wants or scenario.aggregation.wants
    if not asks and (model := facts.architecture) is not None and model.all_personal:
        yield (
            ("rounds", "stop"),
            "needs more than bytes: all parameters are personal, so nothing is ever sent",
        )


def _of_selection(scenario: Experiment, facts: Circumstances) -> Iterator[tuple[Location, str]]:
    """Yield a selector that looks at what clients send, where that is nothing."""
    if not scenario.model.personal or not facts.trains:
        return
    selection, model = scenario.selection, facts.architecture
    if model is None or not model.all_personal:
        return
    asked = {*selection.wants, *selection.answers(clients=1, devices=1, rounds=1)}
    if selection.needs_updates or asked & {"gradient", "update"}:
        yield (
            ("selection",),
            f"selector {selection.name!r} looks at what clients send, and that is nothing, since "
            "all parameters are personal (model.personal)",
        )
