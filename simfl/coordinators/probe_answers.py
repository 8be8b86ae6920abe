"""What clients answer who are asked while somebody is selected, computed for real."""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from simfl.components.selectors.base import Probe, Reports, View
from simfl.coordinators.base import moment
from simfl.coordinators.model_versions import ModelVersions
from simfl.coordinators.personal import Measure
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Params
from simfl.core.work import MiniBatch, WorkResult
from simfl.training.executors.sums import is_sound

Train = Callable[[Sequence[int], View, int], Sequence[WorkResult]]
"""Takes clients, their selection and the model's version; returns what the server receives."""

_Selection = tuple[int, int]
"""The round, and which selection of the round."""


class ProbeAnswers:
    """Answers of clients, each about the model that it was sent.

    Args:
        measure: see `Executor.measure`.
        seeds: the run's root of randomness.
        versions: of the model.
        train: for probes that train.

    Attributes:
        trial: the model that a trial made last (None: there was none).
    """

    def __init__(
        self, measure: Measure, seeds: Seeds, versions: ModelVersions, train: Train
    ) -> None:
        self.trial: Params | None = None
        self._measure, self._seeds, self._versions = measure, seeds, versions
        self._train = train
        self._trials: dict[_Selection, Params] = {}  # while the selection lasts
        self._asked: dict[_Selection, int] = {}  # which model the question is about

    @property
    def asked_about(self) -> Collection[int]:
        """Versions of models that questions under way are about."""
        return self._asked.values()

    def begin(self, view: View, asks: bool) -> None:
        """Note that a selection asks about the present model, or asks no more."""
        own = _of(view)
        # Of selections that go on side by side all others wait for answers.
        self._trials = {at: m for at, m in self._trials.items() if at == own or at in self._asked}
        if asks:
            self._asked[own] = self._versions.present

    def end_all(self) -> None:
        """Whoever was answering has been called off."""
        self._asked.clear()
        self._trials.clear()

    def end(self, probe: Probe, took_s: Mapping[int, float], view: View) -> Reports:
        """Return what the clients say; their selection waits no longer.

        Args:
            probe: what they were asked.
            took_s: how long each took who answers, ascending.
            view: of the selection that asked.
        """
        version, ids = self._asked.pop(_of(view)), list(took_s)
        values = self._values(probe, ids, view, version) if ids else np.zeros(0)
        durations_s = np.array(list(took_s.values()))
        return Reports(probe, np.array(ids, dtype=np.int64), values, durations_s)

    def _values(self, probe: Probe, ids: Sequence[int], view: View, version: int) -> Floats:
        """Return `(m,)` or `(m, d)` what `ids`, one at least, say of this version of the model."""
        model = self._versions[version]
        if probe.report == "update":
            results = self._train(ids, view, version)
            return np.stack([result.params for result in results]).astype(np.float64) - model
        if probe.report == "trial":
            self._try(self._train(ids, view, version), view)
            return np.zeros((len(ids), 0))
        if probe.model == "trial":
            trial = self._trials.get(_of(view), self.trial)
            model = model if trial is None else trial
        batch = None
        if probe.samples is not None:
            batch = MiniBatch(probe.samples, self._seeds.number("minibatch", *moment(view)))
        return self._measure(probe.report, model, ids, batch, view.round)

    def _try(self, results: Sequence[WorkResult], view: View) -> None:
        """Make a trial's model: as in a round, whoever diverged has no say, unless all did."""
        tried = [result for result in results if is_sound(result)] or results
        models = np.stack([result.params for result in tried])
        self.trial = models.mean(axis=0, dtype=np.float64).astype(np.float32)
        self._trials[_of(view)] = self.trial


def _of(view: View) -> _Selection:
    return view.round, view.turn
