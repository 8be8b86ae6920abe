"""The accounts that every byte and joule ends up in; nothing else writes rows."""

from collections.abc import Mapping

from simfl.core.evaluation import Evaluation
from simfl.core.rows import COUNTED, ClientRow, Outcome
from simfl.sim.errand import Errand
from simfl.sim.fleet import Fleet
from simfl.sim.meter import Meter
from simfl.sim.networks.base import Direction
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.idle_energy import IdleEnergy
from simfl.sim.server.participation import Participation
from simfl.sim.server.privacy import PrivacyLoss
from simfl.sim.server.state import RunState


class Accounting:
    """Turns what devices did into rows.

    What is booked between two aggregations belongs to the second one's round; what those at work
    have moved and spent by its end stands beside it.

    Args:
        state: of the run.
        fleet: the devices.
        candidates: who can be asked.

    Attributes:
        row: of the round under way, filled in as things happen.
        meter: what devices at work cost until they are booked.
        privacy: what was spent of it by the end of the last round.
    """

    def __init__(self, state: RunState, fleet: Fleet, candidates: Candidates) -> None:
        self._state = state
        self._fleet = fleet
        self.meter = Meter()
        self.privacy = PrivacyLoss(state, candidates)
        self._booked_bytes = 0
        self._booked_j = 0.0
        self._new_row = state.settings.row
        self.row = self._new_row(0, 0.0)
        self._idle = IdleEnergy(state, fleet)

    @property
    def total_bytes(self) -> int:
        """Moved so far, in both directions, in transfers that are over."""
        return self._booked_bytes + self.meter.bytes

    @property
    def total_energy_j(self) -> float:
        """Spent so far by devices at work, in phases that are over."""
        return self._booked_j + self.meter.energy_j

    def open(self, deadline_s: float | None) -> None:
        """Open the accounts of the state's round, which has a deadline or (None) has not."""
        self.row.round, self.row.start_s = self._state.round, self._state.timeline.now
        self.row.deadline_s = deadline_s
        self._idle.look()
        self._state.note("round", round=self._state.round, version=self._state.version)

    def select(
        self,
        asked: int,
        chosen: Mapping[int, int],
        tier: int | None = None,
        edge: int | None = None,
    ) -> None:
        """Record who was chosen, and how often, when `asked` were wanted (by a tier or an edge)."""
        clients = [client for client, copies in chosen.items() for _ in range(copies)]
        wanting = {"tier": tier, "edge": edge}
        by = {kind: number for kind, number in wanting.items() if number is not None}
        self._state.note("selected", round=self._state.round, **by, asked=asked, clients=clients)
        self.row.selected += len(chosen)
        self.fall_short(asked - len(clients))

    def fall_short(self, missing: int) -> None:
        """Record that so many of the clients that were wanted could not be had."""
        self.row.missing = max(self.row.missing, missing)

    def start(self, errand: Errand) -> None:
        """Record that a device starts an errand now."""
        self._idle.start(errand)
        self.meter.open()

    def book(self, part: Participation, outcome: Outcome, staleness: int = 0) -> None:
        """Write the row of a participation that is over."""
        errand, client = part.errand, part.client
        energy_j = 0.0 if outcome == "skipped" else self._close(errand)[1]
        row = ClientRow(
            round=part.round,
            client=client,
            group=errand.group.name,
            selected_s=part.selected_s,
            download_end_s=errand.download_end_s,
            compute_end_s=errand.compute_end_s,
            upload_end_s=errand.upload_end_s,
            outcome=outcome,
            samples=self._fleet.samples.item(client),
            steps=0 if outcome == "skipped" else part.steps,
            coreset_size=part.order.plan.coreset_size,
            staleness=staleness,
            download_bytes=errand.down_bytes,
            upload_bytes=errand.up_bytes,
            energy_j=energy_j,
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
            self.privacy.count(client.client)
        else:
            row.wasted_bytes += moved
        self._spend(moved, client.energy_j)

    def book_probe(self, errand: Errand) -> tuple[int, float]:
        """Add what a device spent on answering a question; return bytes and joules."""
        moved, energy_j = self._close(errand)
        self.row.probe_bytes += moved
        self._spend(moved, energy_j)
        return moved, energy_j

    def book_backhaul(self, direction: Direction, size: int) -> None:
        """Add what came down to an edge server, or up from one to the cloud."""
        if direction == "down":
            self.row.download_bytes += size
        else:
            self.row.upload_bytes += size
        self._spend(size, 0.0)

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
        row.in_flight_bytes, row.in_flight_energy_j = self.meter.bytes, self.meter.energy_j
        row.end_s, row.train_loss, row.gemd = now_s, train_loss, gemd
        if evaluation is not None:
            row.accuracy, row.loss = evaluation.accuracy, evaluation.loss
            for name, value in evaluation.metrics.items():
                setattr(row, name, value)
        self.privacy.close(row.round)
        for name, spent in self.privacy.told.items():
            setattr(row, name, spent)
        self.row = self._new_row(row.round + 1, now_s)
        self._state.note("round_end", row=row)

    def _spend(self, moved: int, energy_j: float) -> None:
        self.row.energy_j += energy_j
        self._booked_bytes += moved
        self._booked_j += energy_j

    def _close(self, errand: Errand) -> tuple[int, float]:
        """Book an errand that has begun; return what it moved, and its joules."""
        self._idle.end(errand)
        size, at_work_j = self.meter.close(errand)
        idle_w, waited_s = errand.group.power.idle, 0.0
        if idle_w > 0:
            waited_s = errand.waited_s(self._state.timeline.now)
        return size, float(at_work_j + idle_w * (errand.polled_s + waited_s))
