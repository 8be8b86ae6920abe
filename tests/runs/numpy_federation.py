"""Federated training in plain numpy, float64: an event log says who trained when, and on what.

It knows nothing of simfl but the log, and is written from the papers and docs/algorithms.md.  The
model is multinomial logistic regression; mini-batches come in the order of the samples
(``shuffle: false``).
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Held = Mapping[int, tuple[Floats, NDArray[np.int64]]]
"""Inputs `(n, features)` and labels `(n,)` of each client."""


@dataclass(eq=False)
class Work:
    """What a client was sent out for, and came back with.

    Attributes:
        client: its number.
        base: `(p,)` the model that it began with.
        version: of that model.
        round: in which it was chosen.
        epochs: that it is to train.
        copies: how often it was drawn.
        tier: that chose it.
        correction: `(p,)` what it adds to each gradient (SCAFFOLD, FedDyn).
        arrived_s: when its update came.
        update: `(p,)`.
        rates: the learning rate of each of its steps.
        staleness: models made since.
    """

    client: int
    base: Floats
    version: int
    round: int
    epochs: int
    copies: int
    tier: int
    correction: Floats
    arrived_s: float = math.inf
    update: Floats = field(default_factory=lambda: np.zeros(0))
    rates: list[float] = field(default_factory=list)
    staleness: int = 0


class Federation:
    """Replays a run.

    Args:
        held: what the clients train on.
        model: `(p,)` the initial one.
        training: of the scenario.
        aggregation: of the scenario, with its name.
        edges: how many edge servers there are.
        forged: of clients, and of their updates `(p,)` that come together: what they send instead.

    Attributes:
        model: `(p,)` the present one.
        updates: how many counted.
    """

    def __init__(
        self,
        held: Held,
        model: Floats,
        training: Mapping[str, Any],
        aggregation: Mapping[str, Any],
        edges: int = 0,
        forged: Callable[[Sequence[int], Sequence[Floats]], Sequence[Floats]] | None = None,
    ) -> None:
        self.model, self.updates = model, 0
        self._edges, self._forged = edges, forged
        self._held, self._training, self._options = held, training, aggregation
        self._initial, self._version = model, 0
        self._work: dict[tuple[int, float], Work] = {}
        self._latest: dict[int, Work] = {}
        self._left: set[int] = set()  # who went offline in the midst of its work
        self._copies: dict[int, int] = {}
        self._tier = 0
        self._edge: int | None = None  # whose clients are sent out, where there are edges
        self._of_edges: dict[int, Floats] = {}  # by edge its model, where it has one of its own
        self._unsent: dict[int, Floats] = {}
        self._mean, self._square = np.zeros_like(model), np.zeros_like(model)
        self._control = np.zeros_like(model)
        self._controls: dict[int, Floats] = {}
        self._of_tiers: dict[int, tuple[Floats, int]] = {}
        self._clip = aggregation.get("clip", 0.0)

    def replay(self, log: Path) -> None:
        """Train and aggregate as the log says."""
        events = [json.loads(line) for line in log.read_text().splitlines()]
        for i, event in enumerate(events):
            kind = event["event"]
            if kind == "selected":
                chosen = event["clients"]
                self._copies = {client: chosen.count(client) for client in chosen}
                self._tier, self._edge = event.get("tier", 0), event.get("edge")
            elif kind == "dispatched":
                self._send(event)
                self._left.discard(event["client"])
            elif kind == "salvaged":
                self._left.add(event["client"])
            elif kind == "uploaded" and event["client"] in self._latest:
                self._latest[event["client"]].arrived_s = event["t"]
            elif kind == "aggregated":
                if self._of_edges:
                    self._merge()
                else:
                    self._end_round(_arrived(events[i + 1 :]))
                self._version = event["version"]
            elif kind == "edge_aggregated":
                self._end_edge_round(event["edge"], _arrived(events[i + 1 :]))

    def _send(self, event: Mapping[str, Any]) -> None:
        client = event["client"]
        own = self._controls.get(client, np.zeros_like(self.model))
        self._latest[client] = self._work[client, event["t"]] = Work(
            client, self._begun_at(self._edge), self._version, event["round"], event["full_epochs"],
            self._copies[client], self._tier, self._control - own,
        )  # fmt: skip

    def _end_round(self, arrived: Sequence[Mapping[str, Any]]) -> None:
        works = []
        for row in arrived:
            work = self._work[row["client"], row["selected_s"]]
            work.staleness = self._version - work.version
            assert work.staleness == row["staleness"]
            batches = math.ceil(len(self._held[work.client][1]) / self._training["batch_size"])
            planned = self._training.get("steps") or work.epochs * batches
            assert (
                row["steps"] <= planned if row["client"] in self._left else row["steps"] == planned
            )
            self._train(work, row["steps"])
            works.append(work)
        if self._forged is not None:
            clients = [work.client for work in works]
            told = self._forged(clients, [work.update for work in works])
            for work, update in zip(works, told, strict=True):
                work.update = update
        for work in works:
            work.update = self._sent(work)
        if works:
            self.model = self._next_model(works)
        self.updates += len(works)

    # -- edges, each of which has every `edges`-th client

    def _begun_at(self, edge: int | None) -> Floats:
        return self.model if edge is None else self._of_edges.get(edge, self.model)

    def _end_edge_round(self, edge: int, arrived: Sequence[Mapping[str, Any]]) -> None:
        whole, self.model = self.model, self._begun_at(edge)
        self._end_round(arrived)
        self._of_edges[edge], self.model = self.model, whole

    def _merge(self) -> None:
        counts = [
            sum(len(held[1]) for client, held in self._held.items() if client % self._edges == edge)
            for edge in self._of_edges
        ]
        alike = self._options.get("weighting") == "uniform"
        weights = np.ones(len(counts)) if alike else counts
        self.model = np.average(list(self._of_edges.values()), axis=0, weights=weights)
        self._of_edges = {}

    # -- a client

    def _rate(self, round_: int, epoch: int) -> float:
        lr, schedule = self._training["optimizer"]["lr"], self._training.get("lr_schedule")
        if schedule is None:
            return float(lr)
        if schedule["name"] == "exponential":  # per epoch, of all rounds
            done = (round_ - 1) * self._training["epochs"] + epoch
            return float(lr * schedule["decay"] ** done)
        share = min(round_ - 1, schedule["rounds"]) / schedule["rounds"]
        low = schedule["final"]
        return float(lr * (low + (1 - low) * (1 + math.cos(math.pi * share)) / 2))

    def _train(self, work: Work, steps: int) -> None:
        inputs, labels = self._held[work.client]
        optimizer, size = self._training["optimizer"], self._training["batch_size"]
        decay = optimizer.get("weight_decay", 0.0)
        model, first, second = work.base.copy(), np.zeros_like(work.base), np.zeros_like(work.base)
        work.rates = []
        for step in range(1, steps + 1):
            epoch, batch = divmod(step - 1, math.ceil(len(labels) / size))
            rows = slice(batch * size, (batch + 1) * size)
            slope = _slope(model, inputs[rows], labels[rows]) + work.correction
            slope += self._training.get("proximal", 0.0) * (model - work.base)
            if (most := optimizer.get("clip")) and (norm := np.linalg.norm(slope)) > most:
                slope *= most / norm
            lr = self._rate(work.round, epoch)
            work.rates.append(lr)
            if optimizer["name"] == "adamw":
                model = model - lr * decay * model
            else:
                slope = slope + decay * model
            if optimizer["name"] == "sgd":
                rho = optimizer.get("momentum", 0.0)
                first = rho * first + slope
                model = model - lr * (slope + rho * first if optimizer.get("nesterov") else first)
                continue
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            unbiased = first / (1 - 0.9**step), second / (1 - 0.999**step)
            model = model - lr * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        work.update = model - work.base

    def _sent(self, work: Work) -> Floats:
        """Return what is sent of an update; the rest is kept for the next."""
        if "compression" not in self._training:
            return work.update
        whole = work.update + self._unsent.get(work.client, 0.0)
        sent = _compressed(whole, self._training["compression"])
        if self._training["compression"]["error_feedback"]:
            self._unsent[work.client] = whole - sent
        return sent

    # -- the server

    def _next_model(self, works: Sequence[Work]) -> Floats:
        name, options = self._options["name"], self._options
        samples = [len(self._held[work.client][1]) for work in works]
        by_samples = options.get("weighting", "samples") == "samples"
        by_samples &= name not in ("scaffold", "feddyn", "centered_clipping")
        counts = [n * work.copies if by_samples else work.copies
                  for n, work in zip(samples, works, strict=True)]  # fmt: skip
        weights = np.array(counts) / sum(counts)
        updates = np.array([work.update for work in works])
        if name == "fedavg":
            return self.model + weights @ updates
        if name == "fedbuff":
            discounts = [(1 + work.staleness) ** -options["exponent"] for work in works]
            return self.model + (weights * discounts) @ updates
        if name == "refl":  # relative to the fresh ones' mean, as it is defined
            shares = self._shares_of_stale(works, updates) * weights
            return self.model + shares @ updates / shares.sum()
        if name == "fedasync":
            return self._mixed(works)
        if name == "fedat":
            return self._of_all_tiers(works[0].tier, weights @ updates + works[0].base)
        if name == "fednova":
            reaches = np.array([self._reach(work) for work in works])
            return self.model + (weights @ reaches) * ((weights / reaches) @ updates)
        if name == "qfedavg":
            losses = np.array([_loss(work.base, *self._held[work.client]) for work in works])
            smooth = 1 / self._rate(max(work.round for work in works), 0)
            q, slopes = options["q"], smooth * updates
            steep = q * losses ** (q - 1) * (slopes**2).sum(axis=1) + smooth * losses**q
            return self.model + (weights * losses**q) @ slopes / (weights @ steep)
        if name == "scaffold":
            self._learn(works)
            return self.model + weights @ updates
        if name == "feddyn":
            return self._regularised(works, weights @ updates)
        if name == "median":
            return self.model + np.median(updates, axis=0)
        if name == "trimmed_mean":
            cut = int(options["trim"] * len(works))
            return self.model + np.sort(updates, axis=0)[cut : len(works) - cut].mean(axis=0)
        if name == "geometric_median":
            v = weights @ updates
            for _ in range(options["iterations"]):
                inverse = weights / np.maximum(1e-5, np.linalg.norm(updates - v, axis=1))
                v = inverse @ updates / inverse.sum()
            return self.model + v
        if name == "centered_clipping":
            v = self._mean  # of the round before
            for _ in range(options["iterations"]):
                apart = np.linalg.norm(updates - v, axis=1, keepdims=True)
                v = v + weights @ ((updates - v) * np.minimum(1, options["clip"] / apart))
            self._mean = v
            return self.model + v
        if name == "dp_fedavg":  # without noise; five are asked
            lengths = np.linalg.norm(updates, axis=1, keepdims=True)
            return self.model + (updates * np.minimum(1, options["clip"] / lengths)).sum(0) / 5
        if name == "dp_fedavg_adaptive":  # likewise; who is missing counts as a half
            lengths, clip = np.linalg.norm(updates, axis=1, keepdims=True), self._clip
            short = (lengths <= clip).sum() + (5 - len(lengths)) / 2
            self._clip *= math.exp(-options["lr"] * (short / 5 - options["quantile"]))
            return self.model + (updates * np.minimum(1, clip / lengths)).sum(0) / 5
        if name == "krum":
            return self.model + self._krum(updates)
        return self._adapted(name, weights @ updates)

    def _krum(self, updates: Floats) -> Floats:
        apart = ((updates[:, None] - updates) ** 2).sum(axis=2)
        others = max(len(updates) - self._options["byzantine"] - 2, 1)
        scores = [sum(sorted(np.delete(row, i))[:others]) for i, row in enumerate(apart)]
        return updates[np.argsort(scores, kind="stable")[: self._options["keep"]]].mean(axis=0)

    def _shares_of_stale(self, works: Sequence[Work], updates: Floats) -> Floats:
        staleness, beta = np.array([work.staleness for work in works]), self._options["beta"]
        fresh = staleness == 0
        damped = (1 - beta) / (1 + staleness)
        if fresh.any() and not fresh.all():
            n, mean = fresh.sum(), updates[fresh].mean(axis=0)
            moved = np.linalg.norm((updates + n * mean) / (n + 1) - mean, axis=1) ** 2
            far = moved / np.linalg.norm(mean) ** 2
            damped += beta * (1 - np.exp(-far / far[~fresh].max()))
        return np.where(fresh, 1.0, damped)

    def _mixed(self, works: Sequence[Work]) -> Floats:
        model, a, b = self.model, self._options["a"], self._options["b"]
        for work in sorted(works, key=lambda work: work.arrived_s):
            over = work.staleness - b
            share = self._options["alpha"] * (1.0 if over <= 0 else 1 / (a * over + 1))
            model = (1 - share) * model + share * (work.base + work.update)
        return model

    def _of_all_tiers(self, tier: int, model: Floats) -> Floats:
        _, times = self._of_tiers.get(tier, (model, 0))
        self._of_tiers[tier] = model, times + 1
        total = sum(times for _, times in self._of_tiers.values())
        last, mixed = self._options["tiers"] - 1, np.zeros_like(model)
        for m in range(last + 1):
            seldom = self._of_tiers.get(last - m, (model, 0))[1] / total
            mixed += seldom * self._of_tiers.get(m, (self._initial, 0))[0]
        return mixed

    def _reach(self, work: Work) -> float:
        """Return how far steps along gradients of 1 lead, in steps at the first one's rate."""
        rho = self._training["optimizer"].get("momentum", 0.0)
        far = velocity = 0.0
        for lr in work.rates:
            velocity = rho * velocity + 1 - self._training.get("proximal", 0.0) * far
            far += lr * velocity
        return far / work.rates[0]

    def _learn(self, works: Sequence[Work]) -> None:
        change = np.zeros_like(self.model)
        for work in works:
            old = self._controls.get(work.client, np.zeros_like(self.model))
            new = old - self._control - work.update / sum(work.rates)
            self._controls[work.client] = new
            change += new - old
        self._control = self._control + change / len(self._held)

    def _regularised(self, works: Sequence[Work], update: Floats) -> Floats:
        alpha = self._training["proximal"]
        for work in works:
            own = self._controls.get(work.client, np.zeros_like(self.model))
            self._controls[work.client] = own - alpha * work.update
        mean = sum(self._controls.values(), np.zeros_like(update)) / len(self._held)
        return self.model + update - mean / alpha

    def _adapted(self, name: str, update: Floats) -> Floats:
        if name == "fedavgm":
            self._mean = 0.9 * self._mean + update
            return self.model + self._mean
        tau, beta1 = 1e-3, 0.0 if name == "fedadagrad" else 0.9
        old = self._square if self._square.any() else np.full_like(update, tau**2)
        self._mean = beta1 * self._mean + (1 - beta1) * update
        self._square = {
            "fedadagrad": old + update**2,
            "fedadam": 0.99 * old + 0.01 * update**2,
            "fedyogi": old - 0.01 * update**2 * np.sign(old - update**2),
        }[name]
        return self.model + self._options["lr"] * self._mean / (np.sqrt(self._square) + tau)


def _arrived(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the participations that an aggregation is followed by, and that counted."""
    most = next(j for j, one in enumerate(events) if one["event"] != "participation")
    return [one for one in events[:most] if one["outcome"] == "arrived"]


def _compressed(update: Floats, options: Mapping[str, Any]) -> Floats:
    """Return `(p,)` the largest entries, or all of them on a ladder between the largest."""
    if options["name"] == "quantize":  # to the nearest rung
        step = np.abs(update).max() / (2 ** (options["bits"] - 1) - 1)
        return np.asarray(np.round(update / step) * step)
    sent, most = np.zeros_like(update), round(options["share"] * len(update))
    largest = np.argsort(-np.abs(update))[:most]
    sent[largest] = update[largest]
    return sent


def _loss(model: Floats, inputs: Floats, labels: NDArray[np.int64]) -> float:
    """Return the mean cross-entropy."""
    return float(-np.log(_chances(model, inputs)[np.arange(len(labels)), labels]).mean())


def _chances(model: Floats, inputs: Floats) -> Floats:
    """Return `(n, classes)` how likely the model thinks each class is."""
    features = inputs.shape[1]
    classes = len(model) // (features + 1)
    outputs = inputs @ model[: classes * features].reshape(classes, features).T
    outputs += model[classes * features :]
    chances = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _slope(model: Floats, inputs: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return `(p,)` the gradient of the mean cross-entropy: weights by class, then biases."""
    chances = _chances(model, inputs)
    chances[np.arange(len(labels)), labels] -= 1
    chances /= len(labels)
    return np.concatenate([(chances.T @ inputs).ravel(), chances.sum(axis=0)])
