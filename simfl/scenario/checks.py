"""What can't go together, whoever asks: reading a scenario, looking at it, or running it.

Components say themselves what they can't go with (`Component.objections`); here they are asked, and
what they say is given its place.  What concerns no component is in `incompatible_parts`.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from simfl.components.datasets.base import Dataset
from simfl.components.models.base import Model
from simfl.core.blame import blaming
from simfl.core.circumstances import Architecture, Circumstances
from simfl.core.component import Component, overrides
from simfl.core.ownership import users_own
from simfl.core.seeds import Seeds
from simfl.core.target import metric_of
from simfl.core.words import owners
from simfl.errors import InputError, ScenarioError
from simfl.scenario.document import Document
from simfl.scenario.incompatible_parts import Objection, incompatible_parts
from simfl.scenario.language.place import Location
from simfl.scenario.parts.device_rows import samples_told
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.problems import Problem, lost_folder, report

if TYPE_CHECKING:
    from torch import nn

OWN_MODELS = "simfl.components.models."
"""Where models are that object to shapes by themselves, and have no batch norm."""


def refuse(variants: Mapping[str, Experiment], *, trains: bool = True) -> None:
    """Make sure that `variants` can be run, as far as that can be known without data.

    Args:
        variants: by name.
        trains: whether anything is to be trained (not under ``--time-only``).

    Raises:
        ScenarioError: everything that they can't go with, each with its place.
    """
    told = owners({name: _lines(scenario, trains) for name, scenario in variants.items()})
    if told:
        raise ScenarioError(
            "\n".join(
                line if len(names) == len(variants) else f"{line} (in variant {names[0]!r})"
                for line, names in told.items()
            )
        )


def one_of_each(runs: Iterable[tuple[str, Experiment]]) -> dict[str, Experiment]:
    """Return what `refuse` has to look at of many runs: a seed of each variant, mostly.

    Every one where devices' rows, which are drawn, tell how many samples there are to deal.

    Args:
        runs: of each its variant's name and its scenario.
    """
    kept: dict[str, Experiment] = {}
    for name, scenario in runs:
        drawn = name in kept and any(group.tells_samples for group in scenario.fleet)
        kept[f"{name} seed {scenario.seed}" if drawn else name] = scenario
    return kept


def _of_weights(scenario: Experiment) -> Iterator[Objection]:
    """Yield why a model that can be built can't begin with what its `weights_file` holds."""
    if scenario.weights is not None and _Model(scenario).architecture is not None:
        from simfl.training.flat import build

        yield from set_weights(scenario, build(scenario.model, *scenario.inputs_and_outputs()))


def set_weights(scenario: Experiment, module: "nn.Module") -> list[Objection]:
    """Give `module` what the scenario's `weights_file` holds, if it names one; return why not."""
    if scenario.weights is None:
        return []
    from simfl.training.flat import reinitialised
    from simfl.training.model_file import begin_with

    try:
        begin_with(scenario.weights, module, reinitialised(module, scenario.model))
    except InputError as error:
        return [(("model", "weights_file"), str(error))]
    return []


def _lines(scenario: Experiment, trains: bool) -> list[str]:
    lines = complaints(scenario, trains=trains)
    return lines + _placed(scenario, _of_weights(scenario)) if trains else lines


def complaints(scenario: Experiment, *, trains: bool = True) -> list[str]:
    """Return a line for each thing that a run of `scenario` would fail of, with its place."""
    return _placed(scenario, objections(scenario, trains=trains, look=True))


def refusal(scenario: Experiment, problems: Iterable[Objection]) -> ScenarioError:
    """Return the error that tells of all `problems`, each with its place in the file."""
    return ScenarioError("\n".join(_placed(scenario, problems)))


def _placed(scenario: Experiment, problems: Iterable[Objection]) -> list[str]:
    """Return a line for each of the `problems`, with its place in the file."""
    document = scenario._document or Document.of({})
    found = [Problem(path, message) for path, message in problems]
    lost = lost_folder(scenario.folder) if found else []
    return report(document, [*lost, *found]).splitlines()


def objections(
    scenario: Experiment, *, trains: bool = True, look: bool = False
) -> Iterator[Objection]:
    """Yield what can't go together.

    Args:
        scenario: one variant.
        trains: whether anything is to be trained.
        look: whether to look at files and into the model too.
    """
    model = _Model(scenario)
    facts = circumstances(scenario, trains, model if look else None)
    yield from incompatible_parts(scenario, facts)
    for path, component in components(scenario):
        yield from ((path, message) for message in _asked(component, facts))
    if look and is_to_be_built(scenario.model):
        _ = model.architecture
    yield from model.problems


def is_to_be_built(model: Model) -> bool:
    """Return whether nobody can tell without building it, with PyTorch, what is in a model."""
    named = model.frozen or model.reinitialised or model.personal
    return bool(named) or not type(model).__module__.startswith(OWN_MODELS)


def _asked(component: Component, facts: Circumstances) -> Iterator[str]:
    try:
        with blaming(component, "asked what it can't go with", told_as=InputError):
            yield from list(component.objections(facts))
    except InputError as error:
        yield str(error)


def components(part: object, path: Location = ()) -> Iterator[tuple[Location, Component]]:
    """Yield every component of a scenario, those within others too, and where it stands."""
    if isinstance(part, Component):
        yield path, part
    if isinstance(part, BaseModel):
        for name in type(part).model_fields:
            yield from components(getattr(part, name), (*path, name))
    elif isinstance(part, tuple | list) and part and isinstance(part[0], BaseModel):
        for index, item in enumerate(part):
            yield from components(item, (*path, index))
    elif isinstance(part, Mapping):
        for key, item in part.items():
            yield from components(item, (*path, key))


class _Model:
    """A scenario's model, looked into when somebody asks.

    Attributes:
        problems: where and why it can't be built or trained, if it can't.
    """

    def __init__(self, scenario: Experiment) -> None:
        self._scenario = scenario
        self.problems: list[Objection] = []

    @cached_property
    def architecture(self) -> Architecture | None:
        """What is in it (None: see `problems`)."""
        from simfl.training.architecture import architecture_of, try_with_numbers
        from simfl.training.flat import ModelOptionError

        try:
            with blaming(self._scenario.data.dataset, "telling its shape", told_as=InputError):
                shape, outputs = self._scenario.inputs_and_outputs()
            model = self._scenario.model
            architecture = architecture_of(model, shape, outputs)
            if users_own([model]):
                try_with_numbers(model, shape, outputs)
            return architecture
        except ModelOptionError as error:
            self.problems = [(("model", option), why) for option, why in error.problems.items()]
        except InputError as error:
            self.problems = [(("model",), str(error))]
        return None


def circumstances(scenario: Experiment, trains: bool, model: _Model | None) -> Circumstances:
    """Return the plain facts that components are told."""
    data, training, policy = scenario.data, scenario.training, scenario.rounds.policy
    dataset = data.dataset
    more: dict[str, Any] = {}
    if model is not None:
        told = samples_told(scenario.fleet, Seeds(scenario.seed))
        more = {
            "samples": dataset.samples_known,
            "natural": dataset.natural_known,
            "natural_most": len(names) if (names := dataset.names_known) else None,
            "samples_told": None if told is None else int(told.sum()),
            "vocabulary": dataset.vocabulary_known,
            "folder": scenario.root,
            "look": lambda: model.architecture,
        }
    return Circumstances(
        trains=trains,
        devices=scenario.devices,
        clients=scenario.rounds.clients,
        ends_by=frozenset(scenario.rounds.stop.model_dump(exclude_none=True)),
        policy=policy.name,
        tiers=policy.n_tiers,
        may_be_stale=policy.may_be_stale,
        withheld_by=training.filter.name if training.filter.stage == "client" else "",
        training=training.local(),
        steps=training.steps,
        dataset=dataset.name,
        partition=data.partition.name,
        tokens=dataset.tokens,
        has_natural=dataset.natural_clients,
        targets=dataset.targets,
        awaits_accuracy=scenario.rounds.stop.accuracy is not None
        or any(metric_of(target) == "accuracy" for target in scenario.evaluation.targets),
        deals_itself=overrides(dataset, Dataset.lazy),
        input_of=dataset.shape,
        superclasses=dataset.superclasses,
        **more,
    )
