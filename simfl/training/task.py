"""Everything that executors share during one run, besides the orders themselves."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
from torch import nn

from simfl.components.coresets.base import Coreset
from simfl.components.datasets.clients import ClientData, Samples
from simfl.components.local_training import LocalTraining
from simfl.components.metrics.base import QualityMetric
from simfl.components.models.base import Model
from simfl.core.component import Component
from simfl.core.types import Floats, Ids, Params
from simfl.training.data import Partitioned
from simfl.training.flat import build, load


@dataclass(frozen=True)
class Task:
    """A learning task; picklable, so that a worker can be given it once.

    Attributes:
        model: the architecture.
        shape: shape of one input.
        classes: number of outputs.
        data: who holds which samples.
        training: how clients train.
        coreset: how a coreset is chosen where a plan asks for one.
        wants: extra measurements that participants make, see `Selector.wants` and
            `Aggregator.wants`: `gradient` `(p,)`, `loss` and `squared_loss` `()`.
        metrics: what evaluations measure beside accuracy and loss.
        device: torch device that computes.
        frozen: `(f,)` the parameters of the model that are not trained.
        seed: of what is drawn once per run, such as the start of a static coreset.
        static_coresets: (client, size, whether its data are altered) -> rows and weights, filled in
            as they are chosen: coresets of raw inputs do not depend on the model (FedCore, section
            4.3).
    """

    model: Model
    shape: tuple[int, ...]
    classes: int
    data: ClientData
    training: LocalTraining
    coreset: Coreset | None = None
    wants: tuple[str, ...] = ()
    metrics: tuple[QualityMetric, ...] = ()
    device: str = "cpu"
    frozen: Params = field(
        default_factory=lambda: np.zeros(0, np.float32), repr=False, compare=False
    )
    seed: int = 0
    static_coresets: dict[tuple[int, int, bool], tuple[Ids, Floats]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def code(self) -> tuple[Component, ...]:
        """Components whose code runs in training: they may be a user's."""
        own = self.model, self.training.optimizer, self.training.loss
        return own if self.coreset is None else (*own, self.coreset)

    @cached_property
    def model_key(self) -> tuple[object, ...]:
        """What tells tasks of different models apart, by their options and what is not trained."""
        return type(self.model), repr(self.model), sha256(self.frozen.tobytes()).digest()

    def without_data(self) -> "Task":
        """Return this task with no clients: what remains is small, and may be kept or sent."""
        nothing = Samples(np.empty((0, *self.shape), np.float32), np.empty(0, np.int64))
        return replace(self, data=Partitioned(nothing, (), ()), static_coresets={})


def module_of(task: Task) -> nn.Module:
    """Return a module of the model of `task`: what of it is not trained is as it should be."""
    module = build(task.model, task.shape, task.classes)
    if len(task.frozen):
        load(module, task.frozen, frozen=True)
    return module
