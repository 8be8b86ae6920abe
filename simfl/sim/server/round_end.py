"""The end of a round: how good the model is, what the round cost, whether the run goes on."""

from typing import TYPE_CHECKING

import numpy as np

from simfl.sim.coordinator import Aggregated, Coordinator, Evaluation

if TYPE_CHECKING:
    from simfl.sim.server.server import Server


class RoundEnd:
    """Judges models and stops runs.

    Args:
        server: whose.
        coordinator: evaluates.
    """

    def __init__(self, server: "Server", coordinator: Coordinator) -> None:
        self._server = server
        self._coordinator = coordinator
        self._round = 0
        self._judged = 0
        self._reached: set[float] = set()

    def close(self, facts: Aggregated) -> None:
        """Evaluate if due, write the round's row and check the stopping rules."""
        server = self._server
        stop, self._round = server.settings.stop, server.round
        why = None
        if server.round == stop.rounds:
            why = "rounds"
        elif stop.size is not None and server.accounting.total_bytes >= stop.size:
            why = "bytes"
        elif stop.time_s is not None and server.timeline.now >= stop.time_s:
            why = "time"
        evaluation = None
        if why is not None or server.round % server.settings.evaluate_every == 0:
            evaluation = self._judge()
        finite = [loss for loss in facts.losses.values() if np.isfinite(loss)]
        mean_loss = sum(finite) / len(finite) if finite else None
        server.accounting.close(evaluation, mean_loss, facts.gemd)
        if evaluation is not None:
            accuracy = self._note_targets(evaluation)
            if stop.accuracy is not None and accuracy >= stop.accuracy:
                server.finish("accuracy")
        if why is not None:
            server.finish(why)

    def _judge(self) -> Evaluation | None:
        evaluation = self._coordinator.evaluate(self._round)
        if evaluation is not None:
            self._judged = self._server.version
            self._server.timeline.note(
                "evaluated",
                round=self._round,
                accuracy=evaluation.accuracy,
                loss=evaluation.loss,
            )
        return evaluation

    def _note_targets(self, evaluation: Evaluation) -> float:
        """Note which targets are reached; return the accuracy, NaN where there is none."""
        accuracy = float("nan") if evaluation.accuracy is None else evaluation.accuracy
        for target in self._server.settings.targets:
            if accuracy >= target and target not in self._reached:
                self._reached.add(target)
                self._server.timeline.note(
                    "target",
                    accuracy=target,
                    round=self._round,
                    bytes=self._server.accounting.total_bytes,
                    energy_j=self._server.accounting.total_energy_j,
                )
        return accuracy

    def close_run(self) -> None:
        """Judge the last model, if nobody has."""
        if self._judged < self._server.version and (evaluation := self._judge()) is not None:
            self._note_targets(evaluation)
