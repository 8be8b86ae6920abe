"""What selectors that prefer high losses share: ask everybody once, then listen to participants."""

from abc import ABC
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import PrivateAttr
from typing_extensions import override

from simfl.components.selectors.base import Answers, Probe, Report, RoundOutcome, Selector, View
from simfl.components.selectors.mathematics.draws import known_or_median, spread
from simfl.core.types import Floats, Rng


class LossTracker(Selector, ABC):
    """Keeps each client's last known loss: all of them before the first round, then participants'.

    Whoever asks for `loss` in `wants` hears it at the model that participants received; otherwise
    their mean training loss stands in for it.
    """

    needs_training: ClassVar[bool] = True

    _loss: Floats | None = PrivateAttr(default=None)

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        return {"loss": devices}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        if self._loss is not None or reports or not len(view.available):
            return None
        return Probe("loss", view.available)

    def values(self, view: View, reports: Answers) -> Floats:
        """Return `(n,)` ``sqrt(n_k) * loss_k``, the median of the known ones where unknown."""
        if self._loss is None:
            self._loss = view.history.loss.copy()
        for report in reports:  # several selections may have asked before the first was made
            told = spread(report.values, report.clients, view.clients)
            self._loss = np.where(np.isfinite(told), told, self._loss)
        return known_or_median(np.sqrt(view.history.samples) * self._loss)

    def losses(self) -> Floats:
        """Return `(n,)` last known losses, the median of the known ones where unknown."""
        return known_or_median(np.zeros(0) if self._loss is None else self._loss)

    @override
    def observe(self, outcome: RoundOutcome) -> None:
        if self._loss is None:
            return
        heard = outcome.extras.get("loss", outcome.losses)
        loss = np.asarray(heard, dtype=np.float64).reshape(len(outcome.arrived))
        finite = np.isfinite(loss)
        self._loss = self._loss.copy()
        self._loss[outcome.arrived[finite]] = loss[finite]
