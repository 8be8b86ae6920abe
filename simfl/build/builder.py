"""From a scenario to a simulation that is ready to run: the only file that knows every floor."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from simfl.build.data import Federation, federate
from simfl.build.fleet import draw_fleet
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.coordinators.training import TrainingCoordinator
from simfl.core.seeds import Seeds
from simfl.core.types import Params
from simfl.errors import InputError, ScenarioError
from simfl.scenario.checks import complaints
from simfl.scenario.scenario import Scenario
from simfl.sim.coordinator import Coordinator, Evaluation
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.networks.jitter import Jitter, JitterGroup
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Prices, Settings, Stop
from simfl.sim.timeline import Timeline
from simfl.training.executors.base import Executor


@dataclass(frozen=True)
class ModelFacts:
    """What virtual time must know of a model.

    Attributes:
        parameters: p.
        tensors: sizes of its tensors, in the order of the flat vector.
        flops: FLOPs of training one sample.
        convex: whether it has no hidden layer.
        profile: width of FC-1 (0: it has none).
        takes_tokens: whether its inputs are whole numbers.
    """

    parameters: int
    tensors: tuple[int, ...]
    flops: int
    convex: bool
    profile: int
    takes_tokens: bool


class Builder:
    """Makes the parts of one run; each part is made once, when first needed.

    Args:
        scenario: one variant, validated.
        data_dir: where data sets lie (None: they are downloaded).
        time_only: no training.
        executor: where to compute.
        device: torch device.
    """

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

    @cached_property
    def federation(self) -> Federation:
        """Who holds which samples."""
        data = self.scenario.data
        return federate(
            data.dataset,
            data.partition,
            self.scenario.devices,
            data.local_validation,
            data.test_share,
            self._data_dir,
            self.seeds,
        )

    @cached_property
    def model(self) -> ModelFacts:
        """What virtual time must know of the model."""
        from simfl.training.flat import Layout, build, takes_tokens, training_flops
        from simfl.training.measure import profile_layer
        from simfl.training.program import is_convex

        shape, classes = self._shape
        module = build(self.scenario.model, shape, classes)
        layout = Layout.of(module)
        try:
            profile = profile_layer(module).out_features
        except InputError:
            profile = 0
        return ModelFacts(
            parameters=layout.size,
            tensors=tuple(int(np.prod(part)) for part in layout.shapes),
            flops=training_flops(module, shape),
            convex=is_convex(module),
            profile=profile,
            takes_tokens=takes_tokens(module),
        )

    @cached_property
    def _shape(self) -> tuple[tuple[int, ...], int]:
        return self.scenario.data.dataset.shape()

    @cached_property
    def fleet(self) -> Fleet:
        """The devices."""
        federation = self.federation
        return draw_fleet(
            self.scenario,
            self.seeds,
            federation.samples,
            federation.validation,
            self.model.flops,
        )

    @cached_property
    def settings(self) -> Settings:
        """What the server is told."""
        scenario, stop = self.scenario, self.scenario.rounds.stop
        size = 4 * self.model.parameters
        update_size = scenario.training.compression.size(self.model.parameters)
        corrects = scenario.aggregation.corrects
        return Settings(
            clients=scenario.rounds.clients,
            min_clients=scenario.rounds.min_clients,
            epochs=scenario.training.epochs or 0,
            steps=scenario.training.steps,
            batch_size=scenario.training.batch_size,
            convex=self.model.convex,
            stop=Stop(
                stop.rounds,
                stop.time,
                stop.accuracy,
                None if stop.bytes is None else int(stop.bytes),
            ),
            evaluate_every=scenario.evaluation.every,
            targets=scenario.evaluation.targets,
            prices=Prices(
                model_bytes=size,
                update_bytes=update_size,
                correction_bytes=size if corrects else 0,
                report_bytes=update_size if corrects else 0,
                profile_bytes=4 * self.model.profile,
                charge_probes=scenario.selection.charge_probes,
            ),
            wants=tuple(scenario.selection.wants),
            filters_updates=scenario.training.filter.stage == "client",
            memory_bytes=self._training_bytes,
        )

    @cached_property
    def _training_bytes(self) -> int:
        """What training takes of a device's memory (0 where no device's is limited)."""
        if all(
            group.memory is None and "memory" not in group.traced for group in self.scenario.fleet
        ):
            return 0
        from simfl.training.flat import build
        from simfl.training.memory import training_bytes

        shape, classes = self._shape
        module = build(self.scenario.model, shape, classes)
        corrects = self.scenario.aggregation.corrects
        return training_bytes(module, shape, self.scenario.training.local(), corrects)

    @cached_property
    def coordinator(self) -> TrainingCoordinator | TimeOnlyCoordinator:
        """What answers the server."""
        selector = self.scenario.selection.fresh()
        counts = self.federation.label_counts
        if self.time_only:
            return TimeOnlyCoordinator(selector, self.seeds, counts)
        from simfl.training.flat import initial_params

        shape, classes = self._shape
        seed = self.seeds.number("init")
        initial = initial_params(self.scenario.model, shape, classes, seed)
        aggregator = self.scenario.aggregation.fresh()
        aggregator.prepare(self.scenario.training.local(), self.scenario.devices)
        self._start_executor()
        return TrainingCoordinator(
            self.executor,
            selector,
            aggregator,
            initial,
            self._evaluator(),
            self.seeds,
            self.settings.nominal,
            self.scenario.training.compression,
            self.scenario.training.filter,
            self.model.tensors,
            counts,
        )

    def _start_executor(self) -> None:
        from simfl.training.task import Task

        shape, classes = self._shape
        workload = self.scenario.training.workload
        self.executor.start(
            Task(
                model=self.scenario.model,
                shape=shape,
                classes=classes,
                data=self.federation.client_data(),
                training=self.scenario.training.local(),
                coreset=getattr(workload, "method", None),
                wants=tuple(self.scenario.selection.wants),
                device=self._device,
                seed=self.seeds.number("coresets") % 2**62,
            )
        )

    def _evaluator(self) -> Callable[[Params], Evaluation]:
        import torch

        from simfl.training.task import Task

        shape, classes = self._shape
        samples = self.federation.judged_on(self.scenario.evaluation.on)
        if not len(samples):
            raise InputError(
                f"data set {self.scenario.data.dataset.name!r} leaves no test samples to evaluate "
                "the model on"
            )
        if self.model.takes_tokens != np.issubdtype(samples.x.dtype, np.integer):
            takes = "tokens, not measurements" if self.model.takes_tokens else "no tokens"
            raise InputError(
                f"model {self.scenario.model.name!r} takes {takes}, so it can't be trained on data "
                f"set {self.scenario.data.dataset.name!r}"
            )
        x, y = torch.from_numpy(samples.x), torch.from_numpy(samples.y)
        task = Task(
            self.scenario.model,
            shape,
            classes,
            self.federation.client_data(),
            self.scenario.training.local(),
            device=self._device,
        )

        def judge(params: Params) -> Evaluation:
            found = self.executor.evaluate(task, params, x, y)
            return Evaluation(found.accuracy, found.loss)

        return judge

    def check(self) -> None:
        """Make every part once, so that whatever is wrong with the input comes to light.

        Raises:
            InputError: something is.
        """
        self.server(Timeline(), self.coordinator)

    def server(self, timeline: Timeline, coordinator: Coordinator) -> Server:
        """Return the server of a run on `timeline`, answered by `coordinator`."""
        links = self._links(timeline)
        server = Server(
            timeline,
            self.fleet,
            links,
            coordinator,
            self.scenario.training.workload.fresh(),
            self.settings,
            self.seeds,
        )
        if self.scenario.selection.oracle:
            server.truth = {"duration_s": server.nominal_round_s(everybody=True)}
            if (counts := self.federation.label_counts) is not None:
                server.truth["label_counts"] = counts
        return server

    def _links(self, timeline: Timeline) -> Links:
        network, groups = self.scenario.network, self.scenario.fleet
        extra: dict[str, Any] = {}
        if any(group.cell is not None for group in groups):
            places = [
                -1 if group.cell is None else network.cell_names.index(group.cell)
                for group in groups
            ]
            extra["cells"] = np.repeat(places, [group.count for group in groups])
        if any(group.link_jitter is not None for group in groups):
            extra["variation"] = Jitter(
                [
                    JitterGroup(
                        drawn.name,
                        drawn.first,
                        0.0 if group.link_jitter is None else group.link_jitter.sigma,
                    )
                    for group, drawn in zip(groups, self.fleet.groups, strict=True)
                ],
                self.seeds,
            )
        if network.reads_files:
            extra["folder"] = self.scenario.root
        fleet = self.fleet
        return network.bind(
            timeline, fleet.downlink_bps, fleet.uplink_bps, fleet.latency_s, **extra
        )


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    from importlib.metadata import version

    packages = ("simfl", "torch", "numpy", "scipy", "simpy", "kmedoids")
    return {"python": sys.version.split()[0]} | {name: version(name) for name in packages}
