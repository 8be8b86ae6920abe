"""The accounts that every byte and joule ends up in; nothing else writes rows."""

from collections.abc import Mapping

from simfl.core.evaluation import Evaluation
from simfl.core.rows import COUNTED, ClientRow, Outcome, round_row
from simfl.sim.errand import Errand
from simfl.sim.fleet import Fleet
from simfl.sim.server.idle_energy import IdleEnergy
from simfl.sim.server.participation import Participation
from simfl.sim.server.state import RunState


class Accounting:
    """Turns what devices did into rows.

    What is booked between two aggregations belongs to the second one's round.

    Args:
        state: of the run.
        fleet: the devices.

    Attributes:
        row: of the round under way, filled in as things happen.
        total_bytes: moved so far, in both directions.
        total_energy_j: spent so far.
    """

    def __init__(self, state: RunState, fleet: Fleet) -> None:
        self._state = state
        self._fleet = fleet
        self.total_bytes = 0
        self.total_energy_j = 0.0
        self._new_row = round_row(state.settings.metrics)
        self.row = self._new_row(0, 0.0)
        self._idle = IdleEnergy(state, fleet)

    def open(self, deadline_s: float | None) -> None:
        """Open the accounts of the state's round, which has a deadline or (None) has not."""
        self.row.round, self.row.start_s = self._state.round, self._state.timeline.now
        self.row.deadline_s = deadline_s
        self._idle.look()
        self._state.note("round", round=self._state.round, version=self._state.version)

    def select(self, asked: int, chosen: Mapping[int, int]) -> None:
        """Record who was chosen, and how often, when `asked` were wanted."""
        clients = [client for client, copies in chosen.items() for _ in range(copies)]
        self._state.note("selected", round=self._state.round, asked=asked, clients=clients)
        self.row.selected += len(chosen)
        self.fall_short(asked - len(clients))

    def fall_short(self, missing: int) -> None:
        """Record that so many of the clients that were wanted could not be had."""
        self.row.missing = max(self.row.missing, missing)

    def start(self, errand: Errand) -> None:
        """Record that a device starts an errand now."""
        self._idle.start(errand)

    def book(self, part: Participation, outcome: Outcome, staleness: int = 0) -> None:
        """Write the row of a participation that is over."""
        errand = part.errand
        row = ClientRow(
            round=part.round,
            client=part.client,
            group=self._fleet.group(part.client).name,
            selected_s=part.selected_s,
            download_end_s=errand.ends_s.get("download"),
            compute_end_s=errand.ends_s.get("compute"),
            upload_end_s=errand.ends_s.get("upload"),
            outcome=outcome,
            samples=int(self._fleet.samples[part.client]),
            steps=0 if outcome == "skipped" else part.steps,
            coreset_size=part.order.plan.coreset_size,
            staleness=staleness,
            download_bytes=errand.moved["down"],
            upload_bytes=errand.moved["up"],
            energy_j=self._energy_j(errand),
        )
        self._state.note("participation", row=row)
        self._add(row)

    def _add(self, client: ClientRow) -> None:
        """Add a participation to the round's row."""
        row, moved = self.row, client.download_bytes + client.upload_bytes
        if client.outcome in COUNTED:
            setattr(row, client.outcome, getattr(row, client.outcome) + 1)
        row.download_bytes += client.download_bytes
        row.upload_bytes += client.upload_bytes
        if client.outcome == "arrived":
            assert client.upload_end_s is not None
            row.last_arrival_s = max(row.last_arrival_s or 0.0, client.upload_end_s)
        else:
            row.wasted_bytes += moved
        self._spend(moved, client.energy_j)

    def book_probe(self, errand: Errand) -> tuple[int, float]:
        """Add what a device spent on answering a question; return bytes and joules."""
        moved, energy_j = errand.moved["down"] + errand.moved["up"], self._energy_j(errand)
        self.row.probe_bytes += moved
        self._spend(moved, energy_j)
        return moved, energy_j

    def close_run(self) -> None:
        """Tell what devices idled since the last round ended."""
        if (idle_j := self._idle.tell()) > 0:
            self._state.note("idled", energy_j=idle_j)

    def close(
        self, evaluation: Evaluation | None, train_loss: float | None, gemd: float | None
    ) -> None:
        """Write the round's row, and begin to collect what comes after."""
        row, now_s = self.row, self._state.timeline.now
        row.idle_energy_j = self._idle.tell()
        row.end_s, row.train_loss, row.gemd = now_s, train_loss, gemd
        if evaluation is not None:
            row.accuracy, row.loss = evaluation.accuracy, evaluation.loss
            for name, value in evaluation.metrics.items():
                setattr(row, name, value)
        self.row = self._new_row(row.round + 1, now_s)
        self._state.note("round_end", row=row)

    def _spend(self, moved: int, energy_j: float) -> None:
        self.row.energy_j += energy_j
        self.total_bytes += moved
        self.total_energy_j += energy_j

    def _energy_j(self, errand: Errand) -> float:
        self._idle.end(errand)
        power, waited_s = self._fleet.group(errand.device).power, 0.0
        if power.idle > 0:
            waited_s = errand.waited_s(self._state.timeline.now)
        at_work_j = sum(getattr(power, phase) * s for phase, s in errand.spent_s.items())
        return float(at_work_j + power.idle * (errand.polled_s + waited_s))
