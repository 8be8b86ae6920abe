"""Who straggled and who was never heard: one run, device by device."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Floats, Ids
from simfl.report import formats
from simfl.runs.results.result import RunResult


@dataclass(frozen=True, eq=False)
class Devices:
    """The devices that a run asked, by id.

    Attributes:
        fleet: how many devices there are, asked or not.
        ids: `(m,)` those asked.
        groups: `(m,)` of the fleet.
        samples: `(m,)` that each trains on.
        asked: `(m,)` participations.
        outcomes: per outcome `(m,)` how many of them ended so.
        last: `(m,)` rounds whose last update that counted was its own.
        time_s: `(m,)` mean from selection to arrival (NaN: it never arrived).
    """

    fleet: int
    ids: Ids
    groups: NDArray[np.str_]
    samples: Ids
    asked: Ids
    outcomes: dict[str, Ids]
    last: Ids
    time_s: Floats

    @classmethod
    def of(cls, run: RunResult) -> "Devices":
        """Count what each device of a run did."""
        clients = run.of_clients("client").astype(np.int64)
        ids, first, index = np.unique(clients, return_index=True, return_inverse=True)

        def count(rows: NDArray[np.bool_] | Ids) -> Ids:
            return np.bincount(index[rows], minlength=len(ids))

        arrived = count(run.used)
        total = np.bincount(index[run.used], run.durations_s[run.used], minlength=len(ids))
        time_s = np.divide(total, arrived, out=np.full(len(ids), np.nan), where=arrived > 0)
        return cls(
            run.devices,
            ids,
            run.of_clients("group")[first],
            run.of_clients("samples")[first].astype(np.int64),
            np.bincount(index, minlength=len(ids)),
            {name: count(run.of_clients("outcome") == name) for name in run.outcomes},
            count(run.last_counted[run.last_counted >= 0]),
            time_s,
        )

    @property
    def lost(self) -> Ids:
        """`(m,)` participations that came to nothing."""
        return self.asked - self.outcomes.get("arrived", np.zeros_like(self.asked))

    @property
    def heard(self) -> NDArray[np.bool_]:
        """`(m,)` whose update counted at least once."""
        return np.asarray(self.asked > self.lost)

    @property
    def never(self) -> NDArray[np.bool_]:
        """`(m,)` whose participations all came to nothing, not only because the run ended."""
        unfinished = self.outcomes.get("unfinished", np.zeros_like(self.asked))
        return np.asarray(~self.heard & (self.asked > unfinished))

    @property
    def samples_lost(self) -> float:
        """Share of the samples of those asked that the never-heard hold."""
        held = self.samples.sum()
        return float(self.samples[self.never].sum() / held) if held else 0.0

    def worst(self, count: int) -> Ids:
        """Return `(count,)` places of those that cost most: never heard first, then the slowest."""
        slow = np.where(self.never, np.inf, self.time_s)
        return np.lexsort((self.ids, -self.last, -self.lost, -slow))[:count]

    def __str__(self) -> str:
        were = "was" if len(self.ids) == 1 else "were"
        text = f"{len(self.ids):,} of {formats.plural(self.fleet, 'device')} {were} asked"
        never = int(self.never.sum())
        at_work = int((~self.heard & ~self.never).sum())
        if not never and not at_work:
            return f"{text}; each of them was heard at least once."
        parts = []
        if never:
            verbs = ("was", "it holds") if never == 1 else ("were", "they hold")
            lost = f"{formats.percent(self.samples_lost)} of the samples of those asked"
            parts.append(f"{never:,} of them {verbs[0]} never heard, and {verbs[1]} {lost}")
        if at_work:
            were = "was" if at_work == 1 else "were"
            parts.append(f"{at_work:,} not heard yet {were} still at work when the run ended")
        return f"{text}; {'; '.join(parts)}."
