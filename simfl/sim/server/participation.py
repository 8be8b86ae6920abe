"""One client's part in a round, and the accounts that every byte and joule ends up in."""

from collections import Counter
from dataclasses import dataclass, field

import simpy

from simfl.core.rows import ClientRow, Outcome, RoundRow
from simfl.core.work import WorkOrder
from simfl.sim.coordinator import Evaluation
from simfl.sim.device import Errand
from simfl.sim.fleet import Fleet, Power
from simfl.sim.timeline import Timeline


@dataclass(slots=True)
class Participation:
    """One client's part in a round.

    Attributes:
        round: the round it was selected in.
        order: what it trains.
        errand: what its device does, filled in as time passes.
        copies: how often it was drawn in this round.
        tier: which tier it was asked by, where there are several.
        selected_s: when.
        steps: SGD steps of its plan.
        process: its device's process, once started.
        kept_back: whether its update filter left only a status to upload.
    """

    round: int
    order: WorkOrder
    errand: Errand
    copies: int
    selected_s: float
    steps: int
    tier: int = 0
    process: simpy.Process | None = None
    kept_back: bool = False

    @property
    def client(self) -> int:
        """Who."""
        return self.order.client

    @property
    def over(self) -> bool:
        """Whether its device has stopped, for whatever reason."""
        return self.errand.end is not None

    @property
    def arrived(self) -> bool:
        """Whether its update has reached the server."""
        return self.errand.end == "arrived" and not self.kept_back

    @property
    def duration_s(self) -> float:
        """From selection to arrival (only for those who arrived)."""
        return self.errand.ends_s["upload"] - self.selected_s


@dataclass
class RoundTotals:
    """What has happened since the last aggregation."""

    round: int
    start_s: float
    deadline_s: float | None = None
    last_arrival_s: float | None = None
    selected: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    download_bytes: int = 0
    upload_bytes: int = 0
    probe_bytes: int = 0
    wasted_bytes: int = 0
    energy_j: float = 0.0


class Accounting:
    """Turns what devices did into rows; nothing else writes them."""

    def __init__(self, timeline: Timeline, fleet: Fleet) -> None:
        self._timeline = timeline
        self._fleet = fleet
        self.total_bytes = 0
        self.total_energy_j = 0.0
        self.totals = RoundTotals(0, 0.0)

    def open(self, round_: int) -> RoundTotals:
        """Open the accounts of a round; what was booked since the last one is its."""
        self.totals.round, self.totals.start_s = round_, self._timeline.now
        return self.totals

    def book(self, part: Participation, outcome: Outcome, staleness: int = 0) -> None:
        """Write the row of a participation that is over."""
        errand = part.errand
        samples = int(self._fleet.samples[part.client])
        row = ClientRow(
            round=part.round,
            client=part.client,
            group=self._fleet.group(part.client).name,
            selected_s=part.selected_s,
            download_end_s=errand.ends_s.get("download"),
            compute_end_s=errand.ends_s.get("compute"),
            upload_end_s=errand.ends_s.get("upload"),
            outcome=outcome,
            samples=samples,
            steps=0 if outcome == "skipped" else part.steps,
            coreset_size=part.order.plan.coreset_size,
            staleness=staleness,
            download_bytes=errand.moved["down"],
            upload_bytes=errand.moved["up"],
            energy_j=self._energy_j(errand),
        )
        self._timeline.note("participation", row=row)
        totals = self.totals
        totals.outcomes[outcome] += 1
        totals.download_bytes += row.download_bytes
        totals.upload_bytes += row.upload_bytes
        totals.energy_j += row.energy_j
        self.total_energy_j += row.energy_j
        if outcome != "arrived":
            totals.wasted_bytes += row.download_bytes + row.upload_bytes
        self.total_bytes += row.download_bytes + row.upload_bytes

    def book_probe(self, errand: Errand) -> tuple[int, float]:
        """Add what a device spent on answering a question; return bytes and joules."""
        moved, energy_j = errand.moved["down"] + errand.moved["up"], self._energy_j(errand)
        self.totals.probe_bytes += moved
        self.totals.energy_j += energy_j
        self.total_energy_j += energy_j
        self.total_bytes += moved
        return moved, energy_j

    def close(
        self, evaluation: Evaluation | None, train_loss: float | None, gemd: float | None
    ) -> None:
        """Write the round's row, and begin to collect what comes after."""
        totals, self.totals = self.totals, RoundTotals(self.totals.round + 1, self._timeline.now)
        row = RoundRow(
            round=totals.round,
            start_s=totals.start_s,
            end_s=self._timeline.now,
            deadline_s=totals.deadline_s,
            last_arrival_s=totals.last_arrival_s,
            selected=totals.selected,
            arrived=totals.outcomes["arrived"],
            late=totals.outcomes["late"],
            offline=totals.outcomes["offline"],
            skipped=totals.outcomes["skipped"],
            filtered=totals.outcomes["filtered"],
            discarded=totals.outcomes["discarded"],
            accuracy=None if evaluation is None else evaluation.accuracy,
            loss=None if evaluation is None else evaluation.loss,
            train_loss=train_loss,
            download_bytes=totals.download_bytes,
            upload_bytes=totals.upload_bytes,
            probe_bytes=totals.probe_bytes,
            wasted_bytes=totals.wasted_bytes,
            energy_j=totals.energy_j,
            gemd=gemd,
        )
        self._timeline.note("round_end", row=row)

    def _energy_j(self, errand: Errand) -> float:
        power: Power = self._fleet.group(errand.device).power
        return float(sum(getattr(power, phase) * s for phase, s in errand.spent_s.items()))
