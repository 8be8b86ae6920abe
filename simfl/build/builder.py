"""From a scenario to a simulation that is ready to run: the only file that knows every floor."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simfl.build.clients_judge import judge_by_clients, samples_worth
from simfl.build.data import Unfit, federate
from simfl.build.endings import endless
from simfl.build.fleet import draw_fleet
from simfl.build.links import bind_links
from simfl.build.model import initial_model, judge, model_file
from simfl.build.model_facts import ModelFacts, model_facts
from simfl.build.poisoned import poisoned
from simfl.build.settings import server_settings
from simfl.components.datasets.clients import ClientData, Samples
from simfl.coordinators.base import BaseCoordinator, Choosing
from simfl.coordinators.global_model import GlobalModel
from simfl.coordinators.personal import PersonalParameters
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.coordinators.training import TrainingCoordinator
from simfl.coordinators.update_path import UpdatePath
from simfl.core.blame import blaming
from simfl.core.evaluation import Evaluation
from simfl.core.readonly import read_only
from simfl.core.seeds import Seeds
from simfl.core.types import Params
from simfl.errors import InputError, ScenarioError
from simfl.scenario.checks import complaints, refusal
from simfl.scenario.parts.device_rows import samples_told
from simfl.scenario.scenario import Scenario
from simfl.sim.coordinator import Coordinator
from simfl.sim.fleet import Fleet
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Settings
from simfl.sim.timeline import Timeline
from simfl.training.executors.base import Executor

if TYPE_CHECKING:
    from simfl.training.task import Task


class Builder:
    """Makes the parts of one run; each part is made once, when first needed.

    Args:
        scenario: one variant, validated.
        data_dir: where data sets lie (None: they are downloaded).
        time_only: no training.
        executor: where to compute.
        device: torch device.

    Attributes:
        packages: that results depend on, beyond those that every run's do.
    """

    packages: tuple[str, ...] = ()

    def __init__(
        self,
        scenario: Scenario,
        data_dir: Path | None,
        time_only: bool,
        executor: Executor,
        device: str = "cpu",
    ) -> None:
        self.scenario = scenario
        self.seeds = Seeds(scenario.seed)
        self.time_only = time_only
        self.executor = executor
        self._data_dir = data_dir
        self._device = device
        if problems := complaints(scenario, trains=not time_only):
            raise ScenarioError("\n".join(problems))

    @property
    def federation(self) -> ClientData:
        """Who holds which samples."""
        return self._data[0]

    @property
    def judged_on(self) -> int:
        """How many samples models are judged on (0: none are, or not by the server)."""
        if self.time_only:
            return 0
        clients, test = self._data
        if self.scenario.evaluation.on == "clients":
            return samples_worth(clients.validation_sizes)
        return int(clients.sizes.sum()) if self.scenario.evaluation.on == "train" else len(test)

    @cached_property
    def _data(self) -> tuple[ClientData, Samples]:
        data = self.scenario.data
        try:
            return federate(
                data.dataset,
                data.partition,
                clients=self.scenario.devices,
                local_validation=data.local_validation,
                test_share=data.test_share,
                folder=self._data_dir,
                seeds=self.seeds,
                sizes=samples_told(self.scenario.fleet, self.seeds),
            )
        except Unfit as error:
            raise refusal(self.scenario, [(("data", error.part), str(error))]) from error

    @cached_property
    def model(self) -> ModelFacts:
        """What virtual time must know of the model."""
        return model_facts(self.scenario, trains=not self.time_only)

    @cached_property
    def fleet(self) -> Fleet:
        """The devices."""
        return self.drawn_fleet()

    def drawn_fleet(self) -> Fleet:
        """Return the devices, drawn anew: nobody has asked about these, and time goes forward."""
        data = self.federation
        return draw_fleet(
            self.scenario,
            self.seeds,
            data.sizes,
            data.validation_sizes,
            self.model.flops,
            data.names,
        )

    @cached_property
    def settings(self) -> Settings:
        """What the server is told."""
        return server_settings(self.scenario, self.model)

    @cached_property
    def coordinator(self) -> BaseCoordinator:
        """What answers the server."""
        selector = self.scenario.selection.fresh()
        choosing = Choosing(selector, self.seeds, self.federation.label_counts)
        return TimeOnlyCoordinator(choosing) if self.time_only else self._trainer(choosing)

    def _trainer(self, choosing: Choosing) -> BaseCoordinator:
        scenario, training = self.scenario, self.scenario.training
        facts = self.model  # refuses what has no room, before any is taken
        aggregator = scenario.aggregation.fresh()
        holders = int(np.count_nonzero(self.federation.sizes))
        with blaming(aggregator, "learning of the run", told_as=InputError):
            aggregator.prepare(training.local(), holders, scenario.rounds.clients)
        initial, frozen, part = initial_model(scenario, self.seeds)
        personal = None if part is None else PersonalParameters(part)
        task = replace(self.task, frozen=frozen)
        self.executor.start(task)
        model = GlobalModel(
            initial,
            facts.tensors,
            self._judge(personal),
            partial(model_file, task, part),
            personal,
        )
        path = UpdatePath(
            training.compression.fresh(),
            training.filter.fresh(),
            [*scenario.attackers.values()],
        )
        return TrainingCoordinator(
            choosing, self.executor, aggregator, model, path, self.settings.nominal
        )

    def _judge(self, personal: PersonalParameters | None) -> Callable[[Params], Evaluation]:
        """Return what judges models, on what the scenario says, each client's own if it has one."""
        (clients, judged_on), on = self._data, self.scenario.evaluation.on
        if on == "clients":
            own = None if personal is None else personal.model_of
            return judge_by_clients(self.executor, clients, self.model, self.scenario, own)
        if on == "train":
            judged_on = clients.everybodys()
        return judge(self.executor, judged_on, self.model, self.scenario, self.seeds)

    def _learnt_from(self, classes: int) -> ClientData:
        """Return who trains on what, right or wrong."""
        data = self.federation
        for index, (clients, attack) in self.scenario.attackers.items():
            try:
                data = poisoned(data, clients, attack, classes, self.seeds)
            except InputError as error:
                place = ("fleet", index, "attack")
                raise refusal(self.scenario, [(place, str(error))]) from error
        return data

    @cached_property
    def task(self) -> "Task":
        """What executors share, beside the orders themselves, but for what of a model is frozen."""
        from simfl.training.task import Task

        scenario, (shape, classes) = self.scenario, self.scenario.inputs_and_outputs()
        return Task(
            model=scenario.model,
            shape=shape,
            classes=classes,
            data=self._learnt_from(classes),
            training=scenario.training.local(scenario.data.dataset.black or ()),
            coreset=scenario.training.workload.coreset,
            wants=tuple(dict.fromkeys([*scenario.selection.wants, *scenario.aggregation.wants])),
            metrics=scenario.evaluation.metrics,
            device=self._device,
            seed=self.seeds.number("coresets") % 2**62,
        )

    def check(self) -> None:
        """Make every part once, so that whatever is wrong with the input comes to light.

        Raises:
            InputError: something is, or the run would never end.
        """
        self.refuse_endless(self.server(Timeline(), self.coordinator))

    def refuse_endless(self, server: Server) -> None:
        """Refuse what a run with this `server` would wait for in vain.

        Raises:
            ScenarioError: there is something.
        """
        if problems := [*endless(self.scenario, self.fleet, server)]:
            raise refusal(self.scenario, problems)

    def under(self, scenario: Scenario) -> "Builder":
        """Return what builds `scenario`, whose data are the same and are not made again."""
        other = Builder(scenario, self._data_dir, self.time_only, self.executor, self._device)
        other.__dict__["_data"] = self._data
        return other

    def server(self, timeline: Timeline, coordinator: Coordinator) -> Server:
        """Return the server of a run on `timeline`, answered by `coordinator`."""
        server = Server(
            timeline,
            self.fleet,
            bind_links(self.scenario, self.fleet, self.seeds, timeline),
            coordinator,
            self.scenario.training.workload.fresh(),
            self.settings,
            self.seeds,
        )
        self.reveal(server)
        return server

    def reveal(self, server: Server) -> None:
        """Tell `server` what no server can know, if the scenario's selector is an oracle."""
        truth: dict[str, NDArray[Any]] = {}
        if self.scenario.selection.oracle:
            truth["duration_s"] = read_only(server.nominal_round_s(everybody=True))
            if (counts := self.federation.label_counts) is not None:
                truth["label_counts"] = read_only(counts)
        server.selection.truth = truth or None
