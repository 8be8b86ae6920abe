"""The end of a round: how good the model is, what the round cost, whether the run goes on."""

from dataclasses import dataclass, field, replace

import numpy as np

from simfl.core.evaluation import Evaluation
from simfl.core.target import target_facts
from simfl.sim.coordinator import Aggregated, Coordinator
from simfl.sim.server.accounting import Accounting
from simfl.sim.server.state import RunState
from simfl.sim.timeline import ROUNDING


@dataclass(eq=False)
class RoundEnd:
    """Judges models and stops runs.

    Attributes:
        state: of the run.
        coordinator: evaluates.
        accounting: writes the round's row.
    """

    state: RunState
    coordinator: Coordinator
    accounting: Accounting
    _round: int = field(default=0, init=False)
    _judged: int = field(default=0, init=False)
    _reached: set[float] = field(default_factory=set, init=False)
    _closed_s: float = field(default=0.0, init=False)
    _cost: dict[str, float | None] = field(default_factory=dict, init=False)

    @property
    def pending(self) -> bool:
        """Whether a round has begun and not ended."""
        return self._round < self.state.round

    def begin(self) -> None:
        """Judge the model that the run begins with, if it is to be: round 0, which takes nothing.

        Nobody works yet; where nothing is trained, or nobody can judge it, there is no such round.
        """
        if self.state.settings.evaluate_initial and (evaluation := self._judge()) is not None:
            self._end(evaluation)

    def close(self, facts: Aggregated, more: bool = False) -> None:
        """Evaluate if due, write the round's row and check the stopping rules.

        Of the rounds that end when time is up each is judged: nobody knows yet which is the last.

        Args:
            facts: of the aggregation.
            more: other updates are there that may be aggregated at this instant, too, before time
                is up.
        """
        state, self._round = self.state, self.state.round
        why = self._why_stop(more)
        may_be_last = why is not None or state.time_is_up
        evaluation = None
        if may_be_last or state.round % state.settings.evaluate_every == 0:
            evaluation = self._judge()
        finite = [loss for loss in facts.losses.values() if np.isfinite(loss)]
        mean_loss = sum(finite) / len(finite) if finite else None
        self._end(evaluation, mean_loss, facts.gemd)
        if why is not None:
            state.finish(why)

    def _end(
        self,
        evaluation: Evaluation | None,
        mean_loss: float | None = None,
        gemd: float | None = None,
    ) -> None:
        """Write the round's row, and look at what the evaluation, if there is one, has reached."""
        self.accounting.close(evaluation, mean_loss, gemd)
        self._cost = {
            "bytes": self.accounting.total_bytes,
            "energy_j": self.accounting.total_energy_j,
            **self.accounting.privacy.told,
        }
        self._closed_s = self.state.timeline.now
        if evaluation is not None:
            self._note_targets(evaluation)
            self._stop_at(evaluation)

    def _why_stop(self, more: bool) -> str | None:
        """Return which rule ends the run now, whatever an evaluation would say."""
        state, stop = self.state, self.state.settings.stop
        if state.round == stop.rounds:
            return "rounds"
        if stop.size is not None and self.accounting.total_bytes >= stop.size:
            return "bytes"
        spent_j = self.accounting.total_energy_j * (1 + ROUNDING)  # a sum of many
        if stop.energy_j is not None and spent_j >= stop.energy_j:
            return "energy"
        if stop.epsilon is not None and self.accounting.privacy.may_exceed(stop.epsilon):
            return "epsilon"
        if state.time_is_up and not more:
            return "time"
        return None

    def _judge(self) -> Evaluation | None:
        evaluation = self.coordinator.evaluate(self._round)
        if evaluation is not None:
            if not np.isfinite(evaluation.loss):  # the log has one word for whatever is not
                evaluation = replace(evaluation, loss=float("nan"))
            self._judged = self.state.version
            self.state.note(
                "evaluated",
                round=self._round,
                accuracy=evaluation.accuracy,
                loss=evaluation.loss,
                **evaluation.metrics,
            )
        return evaluation

    def _stop_at(self, evaluation: Evaluation) -> None:
        """End the run if its model is as good as it was to become."""
        state, stop = self.state, self.state.settings.stop
        for rule, target in (("accuracy", stop.accuracy), ("target", stop.target)):
            if target is not None and state.settings.reached(evaluation, target):
                state.finish(rule)

    def _note_targets(self, evaluation: Evaluation) -> None:
        """Note which targets are reached.

        They are, and at the cost, as the round ended whose model is judged, be it later.
        """
        late = self._closed_s < self.state.timeline.now
        settings = self.state.settings
        for target in settings.targets:
            if target not in self._reached and settings.reached(evaluation, target):
                self._reached.add(target)
                self.state.note(
                    "target",
                    **target_facts(target),
                    round=self._round,
                    **self._cost,
                    **({"time_s": self._closed_s} if late else {}),
                )

    def close_run(self) -> None:
        """Judge the last model, if nobody has."""
        if self._judged < self.state.version and (evaluation := self._judge()) is not None:
            self._note_targets(evaluation)
