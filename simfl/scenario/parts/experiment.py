"""The parts of a scenario together, as plain typed data; `Scenario` adds how it is read."""

from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from simfl.components.aggregators.base import Aggregator, aggregators
from simfl.components.attacks.base import Attack
from simfl.components.models.base import Model, models
from simfl.components.selectors.base import Selector, selectors
from simfl.components.trackers.base import Tracker, trackers
from simfl.core.words import LONGEST_TEXT
from simfl.errors import nearest
from simfl.scenario.criteria import Criteria
from simfl.scenario.language.yaml_writer import to_yaml
from simfl.scenario.parts.correlation import Correlations
from simfl.scenario.parts.fleet import Groups, counted, lacks_count
from simfl.scenario.parts.learning import Data, Evaluation, Training
from simfl.scenario.parts.part import FolderName, Part, distinct_folders
from simfl.scenario.parts.rounds import Rounds
from simfl.scenario.parts.sweep import Sweep
from simfl.scenario.parts.tune import Tune
from simfl.sim.networks.base import Network, networks

CORRELATED = ("compute", "downlink", "uplink", "latency", "memory", "battery", "samples")
"""Numbers of a device that can go together."""


def _pairs(value: dict[str, float]) -> dict[str, float]:
    for pair in value:
        names = pair.split("~")
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"expected two numbers such as compute~samples, got {pair!r}")
        for name in names:
            if name not in CORRELATED:
                raise ValueError(f"unknown number {name!r} of a device{nearest(name, CORRELATED)}")
    Correlations.of(value)
    return value


def _range(value: Any) -> Any:
    """Let seeds be written as a number or a range, as on the command line."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if isinstance(value, str):
        return parse_seeds(value)
    return value


def parse_seeds(text: str) -> list[int]:
    """Return the seeds that `text` lists.

    Raises:
        ValueError: it lists none.

    >>> parse_seeds("0-2, 7")
    [0, 1, 2, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = (number.strip() for number in part.partition("-"))
        numbers = [first, last] if dash else [first]
        if not all(number.isascii() and number.isdigit() for number in numbers):
            raise ValueError(f"expected seeds such as 0-4 or 0,1,2, got {text[:LONGEST_TEXT]!r}")
        if len(part) > 60 or not (low := int(first)) <= (high := int(numbers[-1])):
            raise ValueError(f"expected a range of seeds such as 0-4, got {text[:LONGEST_TEXT]!r}")
        if len(seeds) + high - low >= MOST_SEEDS:
            raise ValueError(f"expected at most {MOST_SEEDS:,} seeds")
        seeds.extend(range(low, high + 1))
    return seeds


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if twice := [seed for seed, count in Counter(seeds).items() if count > 1]:
        raise ValueError(f"seed {twice[0]} is listed twice")
    return seeds


def _utf8(folder: Path) -> Path:
    """Refuse a name that a run's scenario, which is UTF-8, could not hold."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise ValueError("the name of the scenario's folder is not UTF-8; rename it") from None
    return folder


Seed = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
MOST_SEEDS = 10_000
SeedList = Annotated[
    tuple[Seed, ...],
    Field(max_length=MOST_SEEDS),
    BeforeValidator(_range),
    AfterValidator(_distinct),
]


class Experiment(Part):
    """Everything that defines an experiment, except where its results are written."""

    name: FolderName = Field("scenario", description="of the run's folder")
    description: str = ""
    seed: Seed = Field(0, description="root of all randomness")
    folder: Annotated[Path, AfterValidator(_utf8)] | None = Field(
        None, description="folder of the files that it names; omitted: beside the scenario"
    )
    data: Data
    model: Annotated[Model, models] = Field(description="what is trained")
    fleet: Groups = Field(description="groups of devices, or just one")
    correlate: Annotated[
        dict[str, Annotated[float, Field(ge=-1, le=1)]], AfterValidator(_pairs)
    ] = Field(
        default_factory=dict,
        description="rank correlations between a device's numbers, such as compute~samples: 0.6",
    )
    network: Annotated[Network, networks] = Field(
        default_factory=networks.make, description="how bytes travel between server and devices"
    )
    training: Training = Field(default_factory=Training)
    rounds: Rounds = Field(default_factory=Rounds)
    selection: Annotated[Selector, selectors] = Field(
        default_factory=selectors.make, description="who takes part in a round"
    )
    aggregation: Annotated[Aggregator, aggregators] = Field(
        default_factory=aggregators.make, description="how updates become the next model"
    )
    evaluation: Evaluation = Field(default_factory=Evaluation)
    log: tuple[Annotated[Tracker, trackers], ...] = Field(
        (),
        description="experiment trackers that also record results, on this machine: tensorboard, "
        "wandb, mlflow",
    )
    variants: Annotated[dict[FolderName, dict[str, Any]], AfterValidator(distinct_folders)] = Field(
        default_factory=dict,
        max_length=1000,
        description="the same scenario with changes: a name -> what differs, by path",
    )
    sweep: Sweep | None = Field(
        None,
        description="repeat every variant with every combination of values: a path -> a list; "
        "`zip: {path: list, ...}` for paths that change together, `random: n` for "
        "only n combinations",
    )
    tune: Tune | None = Field(
        None, description="what `simfl tune` chooses, and its objective; runs ignore it"
    )
    seeds: SeedList = Field((), description="repeat every variant: a list, or a range 0-4")

    _document: Any = PrivateAttr(None)
    """The document it was read from, if any, which knows where everything is written."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    @property
    def devices(self) -> int:
        """How many devices the fleet has."""
        return sum(group.count for group in self.fleet)

    @property
    def attackers(self) -> dict[int, tuple[range, Attack]]:
        """Which clients attack, and how, by the place of their group."""
        ends = accumulate(group.count for group in self.fleet)
        return {
            index: (range(end - group.count, end), group.attack)
            for index, (group, end) in enumerate(zip(self.fleet, ends, strict=True))
            if group.attack is not None
        }

    @property
    def powered(self) -> bool:
        """Whether some group says what `power` it takes; else no energy is known of it."""
        return any(group.power is not None for group in self.fleet)

    @property
    def unpowered(self) -> list[str]:
        """Names of the groups that say nothing of `power`, where others do: they count as 0 J."""
        return [group.name for group in self.fleet if group.power is None and self.powered]

    @property
    def root(self) -> Path:
        """Where relative files are looked up."""
        return self.folder or Path()

    @property
    def weights(self) -> Path | None:
        """The file of the model that it begins with (None: each seed draws its own)."""
        file = self.model.weights_file
        return None if file is None else self.root / file

    @property
    def criteria(self) -> Criteria:
        """What its models are judged by."""
        return Criteria.of(self.training.loss, self.evaluation.metrics)

    def inputs_and_outputs(self) -> tuple[tuple[int, ...], int]:
        """Return the shape of one of the model's inputs, and how many outputs it has."""
        shape, classes = self.data.dataset.shape()
        return shape, self.training.loss.outputs(classes, self.data.dataset.targets)

    @model_validator(mode="before")
    @classmethod
    def _a_device_for_each_client(cls, value: Any, info: ValidationInfo) -> Any:
        """Count the devices by the data set's own clients where no `count` says how many."""
        if not isinstance(value, dict) or not lacks_count(value.get("fleet")):
            return value
        try:
            data = Data.model_validate(value.get("data"), context=info.context)
            clients = data.own_clients
        except ValueError:
            return value  # told of the data themselves
        return {**value, "data": data, "fleet": counted(value["fleet"], clients or 0)}

    @model_validator(mode="after")
    def _counted(self) -> Self:
        """Count the clients of a round."""
        object.__setattr__(self, "rounds", self.rounds.of(self.devices))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with every default written out; reading them gives an equal one."""
        data = self.model_dump(mode="json", exclude_none=True)
        return {
            key: value
            for key, value in data.items()
            if value or key not in ("description", "correlate", "log", "variants", "seeds")
        }

    def to_yaml(self) -> str:
        """Return YAML with every default written out; reading it gives an equal one."""
        return to_yaml(self.to_dict())
