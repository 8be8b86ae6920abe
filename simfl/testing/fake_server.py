"""A server that answers a selector's questions with made-up numbers: no training, no clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.components.selectors.base import (
    Answers,
    History,
    Probe,
    Reports,
    RoundOutcome,
    Selector,
    View,
)
from simfl.core.types import Floats, Ids, Rng


@dataclass
class FakeServer:
    """A fleet of `n` clients, each with fixed made-up facts, and the memory a server has of them.

    Attributes:
        samples: `(n,)` training samples.
        loss: `(n,)` mean local loss of the global model, before any decay.
        vectors: `(n, d)` what a profile, gradient or update probe returns.
        duration_s: `(n,)` how long a round takes each client.
        available: ids that can be chosen (those without samples never can).
        silent: ids that never answer a probe.
        layers: sizes of the model's tensors.
        blank: whether answers have no content, as where nothing is trained.
        decay: factor on all losses after each round.
        part: number of the tier or edge server that chooses.
        members: ids of that one's clients (None: all who have samples).
        rounds: how many rounds are over.
        asked: every probe so far.
    """

    samples: Ids
    loss: Floats
    vectors: Floats
    duration_s: Floats
    available: Ids
    silent: frozenset[int] = frozenset()
    layers: tuple[int, ...] = ()
    blank: bool = False
    decay: float = 0.9
    part: int = 0
    members: Ids | None = None
    rounds: int = 0
    asked: list[Probe] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.history = History.empty(self.samples)

    @classmethod
    def random(cls, n: int, seed: int = 0, dimension: int = 6) -> "FakeServer":
        """Return a fleet of `n` clients with random facts, all of them available."""
        rng = np.random.default_rng(seed)
        return cls(
            rng.integers(1, 50, size=n),
            rng.uniform(0.1, 3.0, size=n),
            rng.normal(size=(n, dimension)),
            rng.uniform(1.0, 100.0, size=n),
            np.arange(n),
            layers=(dimension - dimension // 3, dimension // 3),
        )

    def permuted(self, order: Ids) -> "FakeServer":
        """Return the same fleet with client ``order[i]`` renamed to ``i``."""
        return FakeServer(
            self.samples[order],
            self.loss[order],
            self.vectors[order],
            self.duration_s[order],
            np.flatnonzero(np.isin(order, self.available)),
            frozenset(np.flatnonzero(np.isin(order, sorted(self.silent))).tolist()),
            self.layers,
            self.blank,
            self.decay,
            self.part,
            None if self.members is None else np.flatnonzero(np.isin(order, self.members)),
        )

    def view(self, k: int, truthful: bool = False) -> View:
        """Return what a selector sees before the next round of `k` clients."""
        ids = self.available[self.samples[self.available] > 0].astype(np.int64)
        truth: Mapping[str, NDArray[Any]] = {
            "duration_s": self.duration_s,
            "label_counts": np.abs(self.vectors) * self.samples[:, None],
        }
        return View(
            self.rounds + 1,
            float(self.rounds),
            self.history,
            available=lambda: ids,
            k=k,
            truth=truth if truthful else None,
            part=self.part,
            members=self.members,
        )

    def answer(self, probe: Probe) -> Reports:
        """Return what the clients say to `probe`."""
        self.asked.append(probe)
        ids = np.array(sorted(set(probe.clients.tolist()) - self.silent), dtype=np.int64)
        values: Floats
        if self.blank:
            values = np.full(len(ids), np.nan)
        elif probe.report == "loss":
            # A trial lowers losses, differently for each client.
            trial = 1.0 - 0.1 * np.abs(self.vectors[ids, 0]) if probe.model == "trial" else 1.0
            values = self.loss[ids] * self.decay**self.rounds * trial
        elif probe.report == "trial":
            values = np.zeros((len(ids), 0))
        else:
            values = self.vectors[ids]
        return Reports(probe, ids, values, self.duration_s[ids])

    def choose(self, selector: Selector, k: int, rng: Rng) -> Ids:
        """Let `selector` ask until it knows enough, then return `(m,)` whom it chooses."""
        reports: Answers = ()
        view = self.view(k, truthful=selector.oracle)
        while (probe := selector.probe(view, reports, rng)) is not None:
            assert len(reports) < 100, "the selector never stops asking"
            assert len(set(probe.clients.tolist())) == len(probe.clients), "asked somebody twice"
            reports += (self.answer(probe),)
        return selector.select(view, reports, k, rng)

    def finish(self, selector: Selector, chosen: Sequence[int] | Ids) -> RoundOutcome:
        """Let everybody who was chosen deliver, and tell `selector` and the history."""
        self.rounds += 1
        arrived = np.unique(np.asarray(chosen, dtype=np.int64))
        losses = self.loss[arrived] * self.decay**self.rounds
        self.history.loss[arrived] = losses
        self.history.participations[arrived] += 1
        self.history.last_round[arrived] = self.rounds
        self.history.duration_s[arrived] = self.duration_s[arrived]
        facts = {"loss": losses, "squared_loss": losses**2, "gradient": self.vectors[arrived]}
        outcome = RoundOutcome(
            self.rounds,
            np.asarray(chosen, dtype=np.int64),
            arrived,
            losses,
            self.duration_s[arrived],
            self.vectors[arrived].astype(np.float32) if selector.needs_updates else None,
            {name: facts[name] for name in selector.wants},
            self.layers,
        )
        selector.observe(outcome)
        return outcome

    def play(self, selector: Selector, rounds: int, k: int, rng: Rng) -> list[list[int]]:
        """Play so many rounds of `k` clients and return who was chosen in each."""
        log = []
        for _ in range(rounds):
            chosen = self.choose(selector, k, rng)
            log.append([int(client) for client in chosen])
            self.finish(selector, chosen)
        return log
