"""TiFL: clients of one speed at a time, and slower ones as often as accuracy needs them.

Chai et al., "TiFL: A Tier-based Federated Learning System", HPDC 2020, Algorithm 2;
docs/algorithms.md, A.13.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt, PrivateAttr
from typing_extensions import override

from simfl.components.selectors._schedule import is_due
from simfl.components.selectors.base import (
    Answers,
    Probe,
    Report,
    Reports,
    Selector,
    View,
    selectors,
)
from simfl.components.selectors.mathematics.draws import grown, spread
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Ids, Rng


@selectors.register("tifl")
class Tifl(Selector):
    """Splits clients by profiled duration into equal tiers and draws each round from one tier.

    Every `interval` rounds the tiers' losses are asked for (their accuracy, in the paper); if the
    present tier did not improve, tiers with worse losses become more likely.  Each tier may be
    chosen `credits` times; when nobody has credits left, tiers are equally likely.  Clients whose
    profile did not come back have no tier and only fill up, as do other tiers' clients where a
    tier has too few.  Where nothing is trained, losses are unknown and tiers stay equally likely.

    Cost: a local training (`profile: loss`: a forward pass) and its answer once per client; every
    `interval` rounds a loss of every client.  Server: O(N log N).
    """

    tiers: PositiveInt = Field(5, description="number of tiers (section 5.1)")
    interval: PositiveInt = Field(
        10, description="rounds between looks at the tiers' losses, I (not stated)"
    )
    rounds: PositiveInt | None = Field(
        None, description="rounds planned, R: each tier gets R / tiers credits; null: no limit"
    )
    credits: NonNegativeInt | None = Field(
        None, description="times each tier may be chosen, instead of R / tiers"
    )
    probabilities: Literal["paper", "positive"] = Field(
        "paper",
        description="shares of n tiers, worst first: n-1 to 0, or n to 1 (re-implementations)",
    )
    profile: Literal["update", "loss"] = Field(
        "update", description="what is timed: a whole local training, or a loss"
    )

    _duration_s: Floats | None = PrivateAttr(default=None)
    # By number of the server's tier or edge, each of which looks at its own clients:
    _chances: dict[int, Floats] = PrivateAttr(default_factory=dict)
    _losses: dict[int, Floats] = PrivateAttr(default_factory=dict)
    _credits: dict[int, Floats] = PrivateAttr(default_factory=dict)
    _current: dict[int, int] = PrivateAttr(default_factory=dict)
    _last: dict[int, int] = PrivateAttr(default_factory=dict)  # 0-based round of the last selection

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        """Yield also that tiers are more than devices; the default goes with any fleet."""
        yield from super().objections(circumstances)
        if not self.charge_probes:
            yield (
                f"selector {self.name!r} makes tiers by how long clients take to answer, and with "
                "`charge_probes: false` all of them answer at once"
            )
        default = type(self).model_fields["tiers"].default
        if few := circumstances.fewer_than(self.tiers, default):
            yield f"selector {self.name!r} has {self.tiers} tiers, but {few}"

    def _is_due(self, view: View) -> bool:
        return is_due(self.interval, self._last.get(view.part, -1), view.round - 1)

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        losses: dict[Report, int] = {"loss": devices * math.ceil(rounds / self.interval)}
        return losses if self.profile == "loss" else {**losses, self.profile: devices}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        asked = {report.probe.report for report in reports}
        due = self._is_due(view) and "loss" not in asked and len(view.available) > 0
        if due and self.profile == "loss":  # a question for two ends
            return Probe("loss", view.available)
        unknown = view.available[np.isnan(grown(self._duration_s, view.clients)[view.available])]
        if len(unknown) and self.profile not in asked:
            return Probe(self.profile, unknown)
        return Probe("loss", view.available) if due else None

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        tier = self._tiers(view, reports)
        if self._is_due(view) and reports and reports[-1].probe.report == "loss":
            self._judge(view, reports[-1], tier)
        self._last[view.part] = view.round - 1
        ids = view.available
        if len(ids) <= k:
            return ids
        current = self._choose_tier(view.part, tier[ids], rng)
        inside = ids[tier[ids] == current]
        if len(inside) >= k:
            return np.sort(rng.choice(inside, size=k, replace=False))
        # Clients of the nearest tiers fill up, the faster ones first; then those without one.
        others = rng.permutation(np.setdiff1d(ids, inside))
        away = np.where(tier[others] < 0, self.tiers, np.abs(tier[others] - current))
        nearest = others[np.lexsort((tier[others], away))]
        return np.sort(np.concatenate([inside, nearest[: k - len(inside)]]))

    def _tiers(self, view: View, reports: Answers) -> Ids:
        """Return `(n,)` each client's tier, 0 the fastest, -1 for none."""
        durations = grown(self._duration_s, view.clients)
        for report in reports:
            if report.durations_s is not None and report.probe.report == self.profile:
                new = np.isnan(durations[report.clients])
                durations[report.clients[new]] = report.durations_s[new]
            if report.probe.report == self.profile:  # too late: not asked again
                late = np.setdiff1d(report.probe.clients, report.clients)
                durations[late[np.isnan(durations[late])]] = np.inf
        # What a round took stands in for a profile that is missing.
        measured = np.isfinite(view.history.duration_s) & ~np.isfinite(durations)
        self._duration_s = durations = np.where(measured, view.history.duration_s, durations)
        order = np.argsort(durations, kind="stable")[: int(np.isfinite(durations).sum())]
        tier = np.full(view.clients, -1, dtype=np.int64)
        for number, members in enumerate(np.array_split(order, self.tiers)):
            tier[members] = number
        return tier

    def _judge(self, view: View, report: Reports, tier: Ids) -> None:
        """Change the tiers' chances if the present one did not improve since the last look."""
        loss = spread(report.values, report.clients, view.clients)
        samples, part = view.history.samples, view.part
        means = np.full(self.tiers, np.nan)
        for number in range(self.tiers):
            members = (tier == number) & np.isfinite(loss)
            if samples[members].any():
                means[number] = np.average(loss[members], weights=samples[members])
        if not np.isfinite(means).any():
            return
        before, current = self._losses.get(part), self._current.get(part, -1)
        self._losses[part] = means
        if before is None or current < 0 or means[current] < before[current]:
            return
        open_tiers = np.flatnonzero(self._credit(part) > 0)
        n = len(open_tiers)
        worst_first = open_tiers[np.argsort(-np.nan_to_num(means[open_tiers]), kind="stable")]
        shares = np.arange(n, 0, -1.0) - (1.0 if self.probabilities == "paper" and n > 1 else 0.0)
        chances = np.zeros(self.tiers)
        chances[worst_first] = shares / max(shares.sum(), 1.0)
        self._chances[part] = chances

    def _credit(self, part: int) -> Floats:
        if part not in self._credits:
            share = math.inf if self.rounds is None else float(math.ceil(self.rounds / self.tiers))
            given = share if self.credits is None else self.credits
            self._credits[part] = np.full(self.tiers, given)
        return self._credits[part]

    def _choose_tier(self, part: int, present: Ids, rng: Rng) -> int:
        """Return one of the tiers that have available clients, and charge it a credit."""
        there = np.isin(np.arange(self.tiers), present)
        if not there.any():
            return -1
        credit = self._credit(part)
        chances = self._chances.get(part, np.ones(self.tiers))
        for allowed in (chances * (credit > 0) * there, (credit > 0) * there, 1.0 * there):
            if allowed.any():
                break
        current = int(rng.choice(self.tiers, p=allowed / allowed.sum()))
        self._credits[part] = credit - (np.arange(self.tiers) == current) * (credit > 0)
        self._current[part] = current
        return current
