"""The seam of client selection: three pure steps, and what they may look at.

A selector knows no SimPy, no network and not how training runs.  It sees only what a server can
know: sizes that clients reported, losses and updates that arrived, how long answers took.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.core.arguments import called
from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.readonly import read_only
from simfl.core.registry import Registry
from simfl.core.types import Floats, Ids, Rng

Report = Literal["loss", "fc1_profile", "gradient", "update", "trial"]
"""What a probe asks of a client, and what each answer costs on the way up.

- `loss`: its mean local loss at a model (4 bytes).
- `fc1_profile`: its mean FC-1 pre-activation (4 bytes per unit of the layer).
- `gradient`: its mean local gradient (a model).
- `update`: its update after one full local training (a model).
- `trial`: the same, but the average of what comes back is kept aside as the trial model, at which a
  later probe can measure losses (a model).
"""


@dataclass(frozen=True)
class Probe:
    """A question to named clients, charged in bytes, compute and virtual time.

    Attributes:
        report: what each client answers.
        clients: `(m,)` distinct ids.
        model: at which model: the present `global` one or the last `trial` one, that of the same
            selection if it has asked for one.
        samples: on at most so many of each client's samples, drawn at random (None: on all).
    """

    report: Report
    clients: Ids
    model: Literal["global", "trial"] = "global"
    samples: int | None = None


@dataclass(frozen=True)
class Reports:
    """What came back from one probe.

    Attributes:
        probe: the question.
        clients: `(r,)` those who answered in time, ascending; the others went offline.
        values: `(r,)` losses, or `(r, d)` profiles, gradients or updates; `(r, 0)` for a trial.
        durations_s: `(r,)` virtual seconds from the question to each answer, where measured.
    """

    probe: Probe
    clients: Ids
    values: Floats
    durations_s: Floats | None = None

    @classmethod
    def unknown(cls, probe: Probe, took_s: Mapping[int, float]) -> "Reports":
        """Return answers of which only is known how long they took each client."""
        clients = np.array(list(took_s), dtype=np.int64)
        return cls(probe, clients, np.full(len(took_s), np.nan), np.array(list(took_s.values())))


Answers = tuple[Reports, ...]
"""What came back from the probes of one selection so far, in their order."""


@dataclass
class History:
    """What the server remembers of each of its `n` clients; NaN or -1 means never.

    Attributes:
        samples: `(n,)` training samples, as each client reported when it registered.
        loss: `(n,)` mean training loss of its last update that counted, NaN if none.
        participations: `(n,)` updates that arrived from it.
        last_round: `(n,)` round of its last arrived update, -1 if none.
        duration_s: `(n,)` virtual seconds from selection to arrival, last time, NaN if never.
    """

    samples: Ids
    loss: Floats
    participations: Ids
    last_round: Ids
    duration_s: Floats

    @classmethod
    def empty(cls, samples: Ids) -> "History":
        """Return the history before the first round of clients that hold `(n,)` samples."""
        n = len(samples)
        return cls(
            np.asarray(samples, dtype=np.int64),
            np.full(n, np.nan),
            np.zeros(n, dtype=np.int64),
            np.full(n, -1, dtype=np.int64),
            np.full(n, np.nan),
        )

    def read_only(self) -> "History":
        """Return the same arrays for others to look at, whose changes they see."""
        return History(*(read_only(getattr(self, column.name)) for column in fields(self)))


class View:
    """What a selector may look at when it chooses.

    Attributes:
        round: 1-based number of the round being formed.
        now_s: virtual time, seconds.
        history: see `History`; arrays over all `n` clients; not to be changed.
        model_bytes: size of the model, bytes.
        k: how many clients the round will ask (`select` is told the same number; a probe may need
            it before).
        truth: what no server can know, only there for a selector with `oracle` set: arrays over
            all `n` clients by name, such as `duration_s` (how long a round would take it now) or
            `label_counts` `(n, classes)`.
        turn: how many selections were made for this round before (replacements are chosen one by
            one where the server does not wait for all).
        part: number of the tier or edge server that chooses, of its own clients only; else 0.
        members: `(m,)` ids of all clients of that, away and at work or not, ascending; else of all
            who take part: they hold samples, and have not refused.  Not to be changed.
    """

    def __init__(
        self,
        round_: int,
        now_s: float,
        history: History,
        available: Callable[[], Ids],
        draw: Callable[[int, Rng], Ids] | None = None,
        model_bytes: int = 0,
        k: int = 0,
        truth: Mapping[str, NDArray[Any]] | None = None,
        turn: int = 0,
        part: int = 0,
        members: Ids | None = None,
    ) -> None:
        self.round = round_
        self.turn = turn
        self.part = part
        self.now_s = now_s
        self.history = history
        self.members = np.flatnonzero(history.samples) if members is None else members
        self.model_bytes = model_bytes
        self.k = k
        self.truth = truth
        self._available = available
        self._draw = draw
        self._ids: Ids | None = None

    @property
    def clients(self) -> int:
        """Number of clients in the whole fleet."""
        return len(self.history.samples)

    @property
    def available(self) -> Ids:
        """`(a,)` ids that are online, idle and have at least one sample, ascending.  O(fleet).

        Read-only: `draw` looks at it, too.
        """
        if self._ids is None:
            self._ids = self._available().view()
            self._ids.flags.writeable = not len(self._ids)  # NumPy permutes an empty one in place
        return self._ids

    def draw(self, k: int, rng: Rng) -> Ids:
        """Return `(m,)` up to `k` distinct available ids, uniformly, without listing the fleet."""
        if self._draw is not None and self._ids is None:
            return self._draw(k, rng)
        ids = self.available
        return np.sort(rng.choice(ids, size=min(k, len(ids)), replace=False))


@dataclass(frozen=True)
class RoundOutcome:
    """What a server knows once a round's updates are aggregated.

    Attributes:
        round: its number.
        selected: `(k,)` ids that were asked.
        arrived: `(r,)` ids whose updates counted, ascending.
        losses: `(r,)` their mean training losses.
        durations_s: `(r,)` from selection to arrival.
        updates: `(r, p)` their updates (client model minus the base model), float32; only there
            if the selector `needs_updates`.
        extras: further per-client arrays `(r, ...)` that the selector asked for in `wants`.
        layers: sizes of the model's tensors in the order of the flat vector, where known.
    """

    round: int
    selected: Ids
    arrived: Ids
    losses: Floats
    durations_s: Floats
    updates: NDArray[np.float32] | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    layers: tuple[int, ...] = ()


class Selector(Component, ABC):
    """Decides who takes part in a round.  Subclasses override `select`, and the rest if needed."""

    needs_updates: ClassVar[bool] = False
    """Whether `observe` is to be given the participants' updates."""
    wants: ClassVar[tuple[str, ...]] = ()
    """Extra measurements that participants make and upload beside their update.

    Read it from the object, since options may decide (`decided_by_options`).

    - `loss`: the mean local loss at the model they received, before training (4 bytes).
    - `squared_loss`: the mean squared per-sample loss while training (4 bytes).
    - `gradient`: the mean local gradient at the model they received (a model).
    """
    needs_training: ClassVar[bool] = False
    """Whether its choice rests on losses, profiles or updates."""
    oracle: ClassVar[bool] = False
    """Whether it looks at what no server can know; stamped on every output."""

    charge_probes: bool = Field(True, description="whether its probes cost bytes and virtual time")

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.needs_training and not circumstances.trains:
            yield (
                f"selector {self.name!r} needs losses, profiles or updates, which "
                f"{called('--time-only', 'time_only')} never has (uniform needs none)"
            )

    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        """Return what must be asked before choosing; called again with the answers until None."""
        return None

    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        """Return how many answers of each kind it asks for in a whole run, about, for estimates.

        Args:
            clients: asked per round.
            devices: that can be asked.
            rounds: of the run.
        """
        return {}

    @abstractmethod
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        """Return `(m,)` up to `k` available ids; whose id is there twice counts twice.

        Fewer available than `k`: all of them.  Ties go to the lowest id.
        """

    def observe(self, outcome: RoundOutcome) -> None:
        """Learn from a finished round."""

    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Return what an analysis may want to see of the present state, as named arrays."""
        return {}


selectors: Registry[Selector] = Registry("selector", "simfl.components.selectors", "uniform")
