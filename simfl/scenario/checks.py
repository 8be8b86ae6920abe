"""What can't go together, whoever asks: reading a scenario, looking at it, or running it.

Components say themselves what they can't go with (`Component.objections`); here they are asked, and
what they say is given its place.  What concerns no component stands here too.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from simfl.components.datasets.base import Dataset
from simfl.core.arguments import called
from simfl.core.blame import blaming
from simfl.core.circumstances import Architecture, Circumstances
from simfl.core.component import Component, overrides
from simfl.errors import InputError, ScenarioError, nearest
from simfl.scenario.distributions.data_size import DataSize
from simfl.scenario.document import Document
from simfl.scenario.language.place import Location
from simfl.scenario.parts.correlation import Correlations
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.problems import Problem, report

Objection = tuple[Location, str]
"""Where something can't go with the rest, and why."""

OWN_MODELS = "simfl.components.models."
"""Models from there object to shapes by themselves, without PyTorch's import."""


def refuse(variants: Mapping[str, Experiment], *, trains: bool = True) -> None:
    """Make sure that `variants` can be run, as far as that can be known without data.

    Args:
        variants: by name.
        trains: whether anything is to be trained (not under ``--time-only``).

    Raises:
        ScenarioError: everything that they can't go with, each with its place.
    """
    owners: dict[str, list[str]] = {}
    for name, scenario in variants.items():
        for line in complaints(scenario, trains=trains):
            owners.setdefault(line, []).append(name)
    if owners:
        raise ScenarioError(
            "\n".join(
                line if len(names) == len(variants) else f"{line} (in variant {names[0]!r})"
                for line, names in owners.items()
            )
        )


def complaints(scenario: Experiment, *, trains: bool = True) -> list[str]:
    """Return a line for each thing that a run of `scenario` would fail of, with its place."""
    return placed(scenario, objections(scenario, trains=trains, look=True))


def placed(scenario: Experiment, problems: Iterable[Objection]) -> list[str]:
    """Return a line for each of the `problems`, with its place in the file."""
    document = scenario._document or Document.of({})
    return report(document, [Problem(path, message) for path, message in problems]).splitlines()


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
    yield from _of_the_whole(scenario, facts)
    for path, component in components(scenario):
        yield from ((path, message) for message in _asked(component, facts))
    if look and not type(scenario.model).__module__.startswith(OWN_MODELS):
        _ = model.architecture
    if model.problem is not None:
        yield ("model",), model.problem


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
        problem: why it can't be built or trained, if it can't.
    """

    def __init__(self, scenario: Experiment) -> None:
        self._scenario = scenario
        self.problem: str | None = None

    @cached_property
    def architecture(self) -> Architecture | None:
        """What is in it (None: see `problem`)."""
        from simfl.training.architecture import architecture_of

        try:
            with blaming(self._scenario.data.dataset, "telling its shape", told_as=InputError):
                shape, outputs = self._scenario.inputs_and_outputs()
            return architecture_of(self._scenario.model, shape, outputs)
        except InputError as error:
            self.problem = str(error)
            return None


def circumstances(scenario: Experiment, trains: bool, model: _Model | None) -> Circumstances:
    """Return the plain facts that components are told."""
    data, training, policy = scenario.data, scenario.training, scenario.rounds.policy
    dataset = data.dataset
    more: dict[str, Any] = {}
    if model is not None:
        more = {
            "samples": dataset.samples_known,
            "natural": dataset.natural_known,
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
        counts_steps=training.steps is not None,
        dataset=dataset.name,
        partition=data.partition.name,
        tokens=dataset.tokens,
        has_natural=dataset.natural_clients,
        targets=dataset.targets,
        awaits_accuracy=scenario.rounds.stop.accuracy is not None
        or bool(scenario.evaluation.targets),
        deals_itself=overrides(dataset, Dataset.lazy),
        input_of=dataset.shape,
        **more,
    )


def _of_the_whole(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield what concerns no component of its own."""
    yield from _of_rounds(scenario, facts)
    if facts.trains and facts.deals_itself and scenario.evaluation.on == "train":
        yield (
            ("evaluation", "on"),
            f"data set {facts.dataset!r} makes a client's samples only when it trains; use test",
        )
    yield from _of_energy(scenario, facts)
    yield from _of_augmentation(scenario, facts)
    if all(not group.availability.ever_online for group in scenario.fleet):
        yield ("fleet",), "no device is ever online"
    if scenario.data.partition.pools_test and not scenario.data.test_share:
        yield ("data", "test_share"), "must be above 0: there would be nothing to test on"
    yield from _of_groups(scenario)


def _of_rounds(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield numbers of clients that there are not, and an end that never comes."""
    if facts.clients > facts.devices:
        yield (
            ("rounds", "clients"),
            f"{facts.clients} clients per round, but the fleet has only {facts.devices} devices",
        )
    if (scenario.rounds.min_clients or 0) > facts.devices:
        yield (
            ("rounds", "min_clients"),
            f"{scenario.rounds.min_clients} clients to begin a round, but the fleet has only "
            f"{facts.devices} devices",
        )
    if not facts.trains and facts.ends_by == {"accuracy"}:
        yield (
            ("rounds", "stop"),
            f"needs rounds, time, bytes or energy: under {called('--time-only', 'time_only')} no "
            "accuracy is ever reached",
        )


def _of_energy(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield an end by energy, where nothing takes any."""
    at_work = any(group.power is not None and group.power.at_work for group in scenario.fleet)
    if scenario.rounds.stop.energy is not None and not scenario.powered:
        yield ("rounds", "stop", "energy"), "no group of the fleet says what `power` it takes"
    elif facts.ends_by == {"energy"} and not at_work:
        yield (
            ("rounds", "stop"),
            "needs more than energy: work takes no `power` in any group, and who never waits for "
            "others takes none at all",
        )


def _of_augmentation(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield what the data set's samples do not allow."""
    how = scenario.training.augmentation
    if how.of_images() is None:
        return
    if len(facts.shape) != 3:
        yield ("training", "augmentation"), f"data set {facts.dataset!r} has no images"
    elif how.crop and scenario.data.dataset.black is None:
        yield (
            ("training", "augmentation", "crop"),
            "images are normalised pixel by pixel, so that a crop has no border of one colour",
        )
    elif how.crop >= (side := min(facts.shape[1:])):
        yield (
            ("training", "augmentation", "crop"),
            f"must be below {side}, the side of an image, but got {how.crop}: some crops would "
            "hold nothing of it",
        )


def _of_groups(scenario: Experiment) -> Iterator[Objection]:
    cells, first = scenario.network.cell_names, dict[str, int]()
    correlated = Correlations.of(scenario.correlate).names
    for index, group in enumerate(scenario.fleet):
        if (twin := first.setdefault(group.name, index)) != index:
            yield (
                ("fleet", index, "name"),
                f"another group, fleet[{twin}], is called {group.name!r} too; each has a name of "
                "its own",
            )
        if group.cell is not None and group.cell not in cells:
            hint = nearest(group.cell, cells) or "; it has no cells"
            yield ("fleet", index, "cell"), f"the network has no cell {group.cell!r}{hint}"
        for name in correlated:
            if name in group.traced:
                yield (
                    ("correlate",),
                    f"{name} can't be correlated: fleet[{index}] takes it from a trace",
                )
            elif isinstance(group.draw(name), DataSize):
                yield (
                    ("correlate",),
                    f"{name} can't be correlated: fleet[{index}] has it follow the data sizes; "
                    "correlate samples instead, or give it another distribution",
                )
