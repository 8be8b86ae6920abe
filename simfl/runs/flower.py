"""What a run is made of whose model and training are Flower's (``simfl[flower]``)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.build.builder import Builder
from simfl.build.model_facts import ModelFacts
from simfl.components.aggregators.base import aggregators
from simfl.components.datasets.clients import ClientData, Cohort, Samples
from simfl.components.datasets.seeded_libraries import seeded_libraries
from simfl.components.selectors.base import selectors
from simfl.components.workloads.base import workloads
from simfl.coordinators.base import BaseCoordinator, Choosing
from simfl.coordinators.flower.by_messages import ByMessages, Start
from simfl.coordinators.flower.by_methods import ByMethods
from simfl.coordinators.flower.clients import FlowerClients, contexts
from simfl.coordinators.flower.coordinator import FlowerCoordinator
from simfl.coordinators.flower.grid import AppClients
from simfl.coordinators.flower.interface import FlowerInterface
from simfl.coordinators.flower.users import users
from simfl.core.types import Ids
from simfl.core.work import FORWARD_UNITS
from simfl.errors import InputError
from simfl.runs.options import Options
from simfl.scenario import Scenario
from simfl.scenario.checks import refusal
from simfl.scenario.incompatible_parts import Objection
from simfl.training.executors.base import Executor

THEIRS = "what Flower's clients learn and send is theirs"
UNTOLD = "a Flower client is not told to train less, and would train in full"
CLIENTS_OWN = "optimizer", "lr_schedule", "loss", "proximal", "augmentation", "shuffle"


@dataclass(frozen=True)
class Flower:
    """What the user brings; see `simfl.run_flower`.

    Attributes:
        clients: a function that makes a client, or a `ClientApp`.
        strategy: makes a strategy.
        samples: `(devices,)` how many each client trains on.
        flops_per_sample: of training.
        run_config: what clients read as ``context.run_config``.
        start: what a strategy of messages is started with.
    """

    clients: Callable[..., Any]
    strategy: Callable[[], Any]
    samples: Ids
    flops_per_sample: int
    run_config: Mapping[str, Any]
    start: Start

    def interface(self, count: int) -> FlowerInterface:
        """Return a fresh strategy and its `count` clients, to be asked as its kind wants it.

        Raises:
            ComponentError: what makes it raises, or makes none.
            InputError: the clients are not of its kind, or it can't be started with this.
        """
        with users("what makes the strategy"):
            strategy = self.strategy()
            by_messages = hasattr(strategy, "configure_train")
            if not by_messages and not hasattr(strategy, "configure_fit"):
                kind = type(strategy).__name__
                raise TypeError(f"it must return a Flower strategy, not a {kind}")
        with users("`run_config`"):
            own = contexts(count, self.run_config)
        is_app = hasattr(self.clients, "train")
        if by_messages:
            if not is_app:
                raise InputError(
                    "a strategy of flwr.serverapp sends messages to a ClientApp, not to clients "
                    "that a function makes; flwr.server.strategy has those that ask them"
                )
            return ByMessages(strategy, AppClients(self.clients, own), self.start)
        if is_app:
            raise InputError(
                "a strategy of flwr.server asks clients that a function makes, not a ClientApp; "
                "flwr.serverapp.strategy has those that do"
            )
        if self.start != Start():
            raise InputError(
                "`initial_arrays`, `train_config`, `evaluate_config` and `evaluate_fn` start a "
                "strategy of flwr.serverapp; this one, of flwr.server, has its own options for them"
            )
        return ByMethods(strategy, FlowerClients(self.clients, own), count)


class FlowerBuilder(Builder):
    """Makes the parts of a run whose model and training are Flower's.

    Args:
        scenario: one variant, validated.
        options: how to run.
        executor: not asked.
        flower: what the user brings.
    """

    packages = ("flwr",)

    def __init__(
        self, scenario: Scenario, options: Options, executor: Executor, flower: Flower
    ) -> None:
        super().__init__(scenario, None, False, executor, options.device)
        self._flower = flower

    @cached_property
    @override
    def _data(self) -> tuple[ClientData, Samples]:
        nothing = np.zeros((0, 1), dtype=np.float32)
        return Held(self._flower.samples), Samples(nothing, np.zeros(0, dtype=np.int64))

    @property
    @override
    def judged_on(self) -> int:
        """None: Flower's clients judge models, or its strategy does."""
        return 0

    @cached_property
    @override
    def model(self) -> ModelFacts:
        """Bytes are those of Flower's parameters, which are 4 each to the clock."""
        model = self._asked.model
        arrays = model.values() if isinstance(model, Mapping) else model
        sizes = [-(-array.nbytes // 4) for array in arrays]
        return ModelFacts(
            parameters=sum(sizes),
            tensors=tuple(sizes),
            flops=self._flower.flops_per_sample,
            forward_units=FORWARD_UNITS,
            convex=False,
            profile=0,
            takes_tokens=False,
            compiled=False,
            stacked=False,
        )

    @cached_property
    def _asked(self) -> FlowerInterface:
        with seeded_libraries(self.seeds.number("model", "libraries") % 2**32):
            return self._flower.interface(self.scenario.devices)

    @override
    def _trainer(self, choosing: Choosing) -> BaseCoordinator:
        refills = self.scenario.rounds.policy.refills
        return FlowerCoordinator(choosing, self._asked, self.scenario.devices, refills)


def refuse_beyond(scenario: Scenario) -> None:
    """Refuse a variant that asks for more than a Flower strategy and its clients can do.

    Raises:
        ScenarioError: it does; says where.
    """
    problems: list[Objection] = [
        (("fleet", index, "attack"), f"{THEIRS}; leave it out") for index in scenario.attackers
    ]
    problems += [
        (("fleet", index, "on_offline"), f"{UNTOLD}; abort or pause")
        for index, group in enumerate(scenario.fleet)
        if group.on_offline == "salvage"
    ]
    problems += [
        (("fleet", index, "memory"), "nobody knows how much a Flower client needs; leave it out")
        for index, group in enumerate(scenario.fleet)
        if group.memory is not None or "memory" in group.traced
    ]
    training, selector = scenario.training, scenario.selection
    own = [name for name in CLIENTS_OWN if name in training.model_fields_set]
    problems += [(("training", name), f"{THEIRS}; leave it out") for name in own]
    if training.workload.name != workloads.default:
        problems.append((("training", "workload"), f"{UNTOLD}; leave it out"))
    if scenario.evaluation.metrics:
        problems.append((("evaluation", "metrics"), "a Flower strategy tells accuracy and loss"))
    if scenario.evaluation.on != "test":
        problems.append((("evaluation", "on"), "a Flower strategy judges models on what it will"))
    if not training.compression.lossless:
        problems.append((("training", "compression"), f"{THEIRS}, and so is how it is sent"))
    if training.filter.stage != "none":
        problems.append((("training", "filter"), f"{THEIRS}, and so is whether it is sent"))
    if selector.name != selectors.default:
        chooses = f"a Flower strategy chooses its clients; {selector.name!r} would only cost time"
        problems.append((("selection",), chooses))
    if (aggregator := scenario.aggregation).name != aggregators.default:
        makes = f"a Flower strategy makes the models; {aggregator.name!r} would never be asked"
        problems.append((("aggregation",), makes))
    if (policy := scenario.rounds.policy).has_edges:
        averaged = f"policy {policy.name!r} has models averaged at edges"
        problems.append(
            (("rounds", "policy"), f"{averaged}, which is no part of a Flower strategy")
        )
    if scenario.rounds.stop.by_model_alone:
        never = "a Flower strategy may never tell how good its model is"
        problems.append((("rounds", "stop"), f"needs rounds, time, bytes or energy, too: {never}"))
    if problems:
        raise refusal(scenario, problems)


@dataclass(frozen=True)
class Held(ClientData):
    """How many samples each client holds, `(clients,)`, and nothing else."""

    held: Ids

    @property
    @override
    def sizes(self) -> Ids:
        return self.held

    @override
    def training(self, clients: Sequence[int]) -> Cohort:
        raise InputError("the data are those of Flower's clients")

    @override
    def everybodys(self) -> Samples:
        raise InputError("the data are those of Flower's clients")
