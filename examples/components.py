"""One small component of several kinds, each complete: copy what you need.

No entry point is needed: in the folder where this file lies, scenarios can say
``aggregation: {name: "components:Nesterov"}``.  `tests/plugins` runs them all.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import simpy
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution
from simfl.components.availability.base import Availability, OnlineSchedule
from simfl.core.circumstances import Circumstances
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids, Params
from simfl.core.units import Duration, LinkRate
from simfl.sim.networks.base import Direction, Links, Network, Transfer
from simfl.sim.policies.base import Process, RoundPolicy
from simfl.sim.server.server import Server
from simfl.sim.timeline import Timeline


class Nesterov(Aggregator):
    """The mean update; clients' gradients are pulled along the last one."""

    corrects: ClassVar[bool] = True
    pull: float = Field(0.1, ge=0, description="share of the last mean update, per step")

    _step: Params | None = PrivateAttr(None)

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if circumstances.training.optimizer.buffers:
            yield "aggregator 'Nesterov' is a momentum already"

    @override
    def correction(self, client: int) -> Params | None:
        return None if self._step is None else (-self.pull * self._step).astype(np.float32)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        updates = [one.update for one in contributions for _ in range(one.copies)]
        self._step = np.mean(updates, axis=0).astype(np.float32)
        return model + self._step


class FirstFew(RoundPolicy):
    """A round ends with the first `enough` updates; the others are called off."""

    enough: int = Field(2, ge=1, description="updates per round")

    @property
    @override
    def may_be_stale(self) -> bool:
        return False

    @override
    def run(self, server: Server) -> Process:
        while not server.finished:
            yield from server.until_somebody()
            if server.finished:
                return
            server.open_round()
            chosen = yield from server.select(server.settings.clients)
            parts = server.send_all(chosen)
            yield server.closing(parts, math.inf, self.enough)
            yield server.call_off(parts)
            server.reject_surplus(parts, self.enough)
            yield from server.aggregate([part for part in parts if part.arrived], chosen)


class Satellite(Network):
    """One rate for everybody, whatever the fleet says, and nothing shared."""

    rate: LinkRate = Field(1e6, description="of every link")

    @override
    def bind(
        self,
        timeline: Timeline,
        downlink_bps: Floats,
        uplink_bps: Floats,
        latency_s: Floats,
        **extra: Any,
    ) -> Links:
        """Cells and varying rates are not for satellites."""
        return _Beams(timeline, self.rate, latency_s)


class _Beams(Links):
    def __init__(self, timeline: Timeline, bps: float, latency_s: Floats) -> None:
        self._timeline, self._bps, self._latency_s = timeline, bps, latency_s

    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        return None  # this network moves the bytes itself

    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        return float(self._latency_s[device]) + 8 * size / self._bps

    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        return _Beam(self._timeline, size, self.expected_s(device, direction, size))


class _Beam(Transfer):
    def __init__(self, timeline: Timeline, size: int, lasts_s: float) -> None:
        super().__init__(timeline)
        self._size, self._lasts_s, self._began_s, self._off = size, lasts_s, timeline.now, False
        timeline.at(timeline.now + lasts_s).callbacks.append(self._arrive)

    def _arrive(self, _: simpy.Event) -> None:
        if not self._off:
            self.succeed()

    @override
    def abort(self) -> int:
        self._off = not self.triggered
        share = (self.env.now - self._began_s) / self._lasts_s if self._lasts_s else 1.0
        return int(self._size * min(share, 1.0))


class Shifts(Availability):
    """Every other device works by day, the others by night."""

    length: Duration = Field(12 * 3600.0, gt=0, description="of a shift")

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        return _Alternation(self.length, devices)


class _Alternation:
    def __init__(self, length_s: float, devices: int) -> None:
        self._length_s, self._devices = length_s, devices

    def online(self, devices: Ids, now_s: float) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = (self._shift(now_s) + devices) % 2 == 0
        return there

    def next_change_s(self, device: int, now_s: float) -> float:
        return (self._shift(now_s) + 1) * self._length_s

    def _shift(self, now_s: float) -> float:
        """Return the number of the shift: at the very instant of a change it is the new one."""
        shift = now_s // self._length_s
        return shift + ((shift + 1) * self._length_s <= now_s)  # the product is rounded

    def next_online_s(self, now_s: float) -> float:
        alone = self._devices == 1 and not self.online(np.zeros(1, dtype=np.int64), now_s)[0]
        return self.next_change_s(0, now_s) if alone else now_s
