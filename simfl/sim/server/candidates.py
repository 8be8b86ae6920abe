"""Who can take part now: online, idle, with samples.  Idle devices cost one byte each."""

from collections.abc import Callable, Collection
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Floats, Ids
from simfl.sim.fleet import Fleet
from simfl.sim.timeline import Timeline

_FEW = 16
"""A fleet this many times larger than what is looked at first is sampled instead of listed."""

_SHARE = 4
"""One in so many devices is looked at before the whole fleet is listed after all."""


class Candidates:
    """The server's knowledge of who is there.

    Args:
        timeline: the clock.
        fleet: the devices.

    Attributes:
        able: devices that hold samples and have not refused, ascending.
        dismissed: those that hold samples and have refused.
        busy: how many have something to do.
    """

    def __init__(self, timeline: Timeline, fleet: Fleet) -> None:
        self._timeline = timeline
        self._fleet = fleet
        self._free: NDArray[np.bool_] = fleet.samples > 0
        self._back_s: Floats | None = None  # when who is offline comes back
        # To look at a battery is to round its charge: there everybody drawn is looked at, always.
        self._batteries = any(group.batteries is not None for group in fleet.groups)
        self._spare = -1  # who was reachable once, and not drawn ...
        self._spare_until_s = -np.inf  # ... and stays online until then
        self._drawn: frozenset[int] = frozenset()  # who was drawn last ...
        self._drawn_s = -np.inf  # ... at this instant
        self.able: Ids = np.flatnonzero(fleet.samples > 0)
        self.dismissed: list[int] = []
        self.busy = 0

    @cached_property
    def all_stay(self) -> bool:
        """Whether nobody ever leaves or runs out of charge, as far as some of each group tell."""
        return not self._batteries and all(
            group.schedule.next_change_s(device, 0.0) == np.inf
            for group in self._fleet.groups
            for device in group.some(_FEW).tolist()
        )

    def occupy(self, device: int) -> None:
        """Record that `device` has something to do."""
        self._free[device] = False
        self.busy += 1

    def release(self, device: int) -> None:
        """Record that `device` is idle again."""
        self._free[device] = True  # without samples it would never have been occupied
        if self._back_s is not None:  # at work its battery was fed otherwise than was foreseen
            self._back_s[device] = -np.inf
        self.busy -= 1

    def dismiss(self, device: int) -> None:
        """Record that `device` will not take part: it has refused."""
        self._free[device] = False
        self.able = self.able[self.able != device]
        self.dismissed.append(device)

    def readmit(self, devices: Collection[int]) -> None:
        """Record that `devices`, which had refused, can take part after all."""
        self.dismissed = [device for device in self.dismissed if device not in devices]
        self._free[list(devices)] = True
        self.able = np.sort(np.append(self.able, np.array(list(devices), dtype=np.int64)))

    def reachable(self, clients: Ids) -> Ids:
        """Return `(m,)` those of `clients` online, idle and with samples, in their order."""
        clients = clients[self._free[clients]]
        return clients[self._fleet.online(clients, self._timeline.now)] if len(clients) else clients

    def draw(self, k: int, rng: np.random.Generator, among: Ids | None = None) -> Ids:
        """Return `(m,)` up to `k` reachable clients, uniformly, looking at few of a large fleet."""
        pool = self.able if among is None else among
        if len(pool) > _FEW * _first_look(k):
            drawn = self._draw_from_few(k, rng, pool)
            if drawn is not None:
                return drawn
        available = self.reachable(pool)
        return np.sort(rng.choice(available, size=min(k, len(available)), replace=False))

    def _draw_from_few(self, k: int, rng: np.random.Generator, pool: Ids) -> Ids | None:
        """Return `(k,)` reachable clients of a large `pool`, as chance brings them before us.

        None: a share of the pool was looked at, and fewer were reachable.
        """
        most = _first_look(k)
        # Mostly the first of them are enough.
        ends = [most] if self._batteries else [2 * k + 2, 4 * k + 16, most]
        seen: dict[int, None] = {}
        reachable: list[int] = []
        while len(seen) < len(pool) // _SHARE:
            drawn = rng.integers(len(pool), size=most)
            for first, last in pairwise([0, *ends]):
                fresh = [i for i in dict.fromkeys(drawn[first:last].tolist()) if i not in seen]
                seen.update(dict.fromkeys(fresh))
                reachable += self.reachable(pool[fresh]).tolist() if fresh else []
                if len(reachable) >= k:
                    self._remember(reachable[:k], reachable[k:])
                    return np.array(sorted(reachable[:k]), dtype=np.int64)
        return None

    def present(self, most: int, among: Ids | None, rng: Callable[[], np.random.Generator]) -> int:
        """Return how many can take part now; any number from `most` on is `most`.

        Args:
            most: more are not counted.
            among: `(m,)` ids of who counts (None: everybody).
            rng: makes the generator by which few of many are looked at, where that is enough.
        """
        if most == 1 and among is None and self._has_spare():
            return 1
        pool = self.able if among is None else among
        few = len(pool) <= _FEW * _first_look(most)
        return min(most, len(self.reachable(pool) if few else self.draw(most, rng(), among)))

    def absent(self, clients: Collection[int]) -> list[int]:
        """Return those of `clients` that can't take part now, ascending."""
        just_drawn = self._timeline.now == self._drawn_s and self._drawn.issuperset(clients)
        if just_drawn and not self._batteries:
            return sorted(client for client in clients if not self._free[client])
        asked = np.array(sorted(clients), dtype=np.int64)
        return sorted(set(asked.tolist()) - set(self.reachable(asked).tolist()))

    def _remember(self, drawn: list[int], others: list[int]) -> None:
        """Remember who is there, to be asked about sooner than anybody else."""
        self._drawn, self._drawn_s = frozenset(drawn), self._timeline.now
        if others and not self._batteries:  # a battery may be empty sooner
            self._spare = others[0]
            self._spare_until_s = self._fleet.leaves_s(self._spare, self._drawn_s)

    def _has_spare(self) -> bool:
        return self._timeline.now < self._spare_until_s and bool(self._free[self._spare])

    def next_return_s(self, among: Ids | None = None) -> float:
        """Return the first instant after now at which an offline device comes back (inf: never).

        It may be the return of a device that is busy or holds no samples, or, while everybody is
        offline, of none of `among` `(m,)` (None: of all who can take part): look again then.
        """
        now = self._timeline.now
        back_s = self._fleet.next_online_s(now)
        if back_s > now:
            return back_s
        return float(np.min(self._returns_s(self.able if among is None else among), initial=np.inf))

    def returns_s(self, among: Ids | None = None) -> Floats:
        """Return `(m,)` the instants, ascending, at which idle devices come back from offline."""
        pool = self.able if among is None else among
        back_s = self._returns_s(pool[self._free[pool]])
        return np.sort(back_s[back_s < np.inf])

    def _returns_s(self, pool: Ids) -> Floats:
        """Return `(m,)` when those of `pool` come back who are offline (inf: never)."""
        now = self._timeline.now
        offline = pool[~self._fleet.online(pool, now)]
        if self._back_s is None:
            self._back_s = np.full(len(self._fleet), -np.inf)
        for device in offline[self._back_s[offline] <= now].tolist():  # not looked up yet
            self._back_s[device] = self._fleet.returns_s(device, now)
        return self._back_s[offline]


def _first_look(k: int) -> int:
    """Return how many of a large fleet are looked at first for `k` that can take part."""
    return 4 * k + 64
