"""What can't go with epochs that train personal and shared parameters in turn."""

from collections.abc import Iterator

from simfl.core.circumstances import Circumstances
from simfl.core.words import numbered
from simfl.scenario.language.place import Location
from simfl.scenario.parts.experiment import Experiment


def alternation(scenario: Experiment, facts: Circumstances) -> Iterator[tuple[Location, str]]:
    """Yield why `training.personal_epochs` leaves a part of the model without any epoch."""
    training, first = scenario.training, scenario.training.personal_epochs
    if first is None:
        return
    path = "training", "personal_epochs"
    if not scenario.model.personal:
        yield path, "no parameters are personal; name them in `model.personal`"
    elif (model := facts.architecture) is not None and model.personal == model.trained:
        yield path, "all parameters are personal, so the epochs after these have none to train"
    if training.epochs is None:
        yield path, "local work is counted in `steps`; give `epochs`"
    elif first >= training.epochs:
        yield path, f"of {numbered(training.epochs, 'epoch')} it leaves none for shared parameters"
    if training.workload.coreset is not None:
        workload = training.workload.name
        yield path, f"can't go with workload {workload!r}, whose last epochs are over a coreset"
