"""Links at work: the devices' own, and those of cells and of the server that they share."""

import numpy as np
from typing_extensions import override

from simfl.core.types import Floats
from simfl.sim.networks.base import Direction, Links, Transfer
from simfl.sim.networks.bottlenecks import Bottlenecks
from simfl.sim.networks.links import slow_start
from simfl.sim.networks.links.lost_packets import Connections
from simfl.sim.networks.transfers import LoneTransfer, SharedTransfer
from simfl.sim.occasions import Jitter
from simfl.sim.timeline import Timeline


class SharedLinks(Links):
    """The devices' own links, and what they share in each direction.

    Args:
        timeline: the clock.
        device_bps: `(n,)` bit/s of messages that each device's own link lets through, by direction.
        latency_s: `(n,)` one way, seconds.
        shared: what is shared, by direction.
        variation: how devices' own rates vary from transfer to transfer (None: not at all).
        window: bytes that TCP sends before it waits for an answer (0: no slow start).
        queue: bytes of messages that wait before each device's downlink at most (None: all that
            come, so that nothing is lost).
        added: bytes that protocols add to every message.
    """

    def __init__(
        self,
        timeline: Timeline,
        device_bps: dict[Direction, Floats],
        latency_s: Floats,
        shared: dict[Direction, Bottlenecks],
        variation: Jitter | None,
        window: float,
        queue: float | None,
        added: float,
    ) -> None:
        self._window, self._added = window, added
        # Who uploads fills a queue of its own, which loses nothing.
        self._down = None if queue is None else Connections(window, queue)
        self._timeline = timeline
        self._device_bps = device_bps
        self._latency_s = latency_s
        self._shared = shared
        self._variation = variation

    @property
    @override
    def steady(self) -> bool:
        return all(shared.steady for shared in self._shared.values())

    def _total(self, size: int) -> float:
        """Return how many bytes move for a message of `size`."""
        return size + self._added

    def _varies(self, device: int) -> bool:
        return self._variation is not None and self._variation.varies(device)

    @override
    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        if self._window or self._shared[direction].of(device) is not None or self._varies(device):
            return None
        moving_s = 8 * self._total(size) / self._device_bps[direction][device]
        return float(self._latency_s[device] + moving_s)

    @override
    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        own_bps, shared = float(self._device_bps[direction][device]), self._shared[direction]
        bps = min(own_bps, shared.bps(device))
        link, total = shared.of(device), self._total(size)
        waits_bps = bps if link is not None and link.has_latency else own_bps
        before_s = self._before_s(device, direction, total, waits_bps, begins=False)
        return before_s + 8 * total / bps

    @override
    def all_expected_s(self, devices: int, direction: Direction, size: int) -> Floats:
        if self._window:
            return super().all_expected_s(devices, direction, size)
        bps = np.minimum(self._device_bps[direction], self._shared[direction].all_bps())
        return self._latency_s + 8 * self._total(size) / bps

    def _before_s(
        self, device: int, direction: Direction, total: float, bps: float, *, begins: bool = True
    ) -> float:
        """Return how long a transfer that begins (or would) takes besides moving its bytes."""
        latency_s = self._latency_s.item(device)
        if not self._window:
            return latency_s
        if direction == "up" or self._down is None:
            return latency_s + slow_start.waits_s(total, bps, latency_s, self._window)
        waits_s = self._down.transfer if begins else self._down.expected_s
        return latency_s + waits_s(device, total, bps, latency_s)

    @override
    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        bps = self._device_bps[direction].item(device)
        if self._variation is not None:
            bps *= self._variation.factor(device, direction)
        total = self._total(size)
        shared = self._shared[direction]
        link = shared.of(device)
        if link is None or total <= 0:
            before_s = self._before_s(device, direction, total, bps)
            return LoneTransfer(self._timeline, size, total, before_s, bps)
        cell, latency_s = shared.cell(device), self._latency_s.item(device)
        before_s = 0.0 if link.has_latency else self._before_s(device, direction, total, bps)
        return SharedTransfer(self._timeline, link, cell, size, total, latency_s, before_s, bps)
