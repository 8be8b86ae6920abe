"""The contract of every availability, as a test suite to inherit: see `simfl.testing.contract`."""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np

from simfl.components.availability.base import Availability, OnlineSchedule
from simfl.core.seeds import Seeds
from simfl.testing.contract import ComponentContract

DEVICES, CHANGES = 5, 40


class AvailabilityContract(ComponentContract):
    """What holds for every availability; inherit and set `create`."""

    create: Callable[..., Availability]
    folder: ClassVar[Path] = Path()
    """Where its files lie, if it reads any."""

    def schedule(self, seed: int = 0, devices: int = DEVICES) -> OnlineSchedule:
        """Return a new schedule."""
        return self.create().schedule(devices, "phones", Seeds(seed), self.folder)

    def changes(self, schedule: OnlineSchedule, device: int) -> list[tuple[float, bool]]:
        """Return the first changes of one device: when, and whether it is online from then on."""
        only, now_s, log = np.array([device]), 0.0, []
        for _ in range(CHANGES):
            log.append((now_s, bool(schedule.online(only, now_s)[0])))
            following_s = schedule.next_change_s(device, now_s)
            assert following_s > now_s, f"the change after {now_s} is at {following_s}"
            if following_s == math.inf:
                break
            now_s = following_s
        return log

    def test_answers_are_as_promised(self) -> None:
        """`(m,)` truth values, for any devices in any order, none at all among them."""
        schedule = self.schedule()
        for now_s in (0.0, 1.0, 3600.0, 1e6):
            for ids in ([], [3], [4, 0, 2], list(range(DEVICES))):
                online = schedule.online(np.array(ids, dtype=np.int64), now_s)
                assert online.shape == (len(ids),), online.shape
                assert online.dtype == np.bool_, online.dtype

    def test_states_alternate_and_last_until_the_next_change(self) -> None:
        """At the very instant of a change the state is the new one; in between it stays."""
        for device in range(DEVICES):
            log = self.changes(self.schedule(), device)
            schedule, only = self.schedule(), np.array([device])
            for (start_s, on), (end_s, following) in pairwise(log):
                assert on != following, f"device {device} changes at {end_s}, but stays {on}"
                for share in (0.0, 0.5, 1 - 1e-9):
                    now_s = start_s + share * (end_s - start_s)
                    if start_s <= now_s < end_s:
                        assert bool(schedule.online(only, now_s)[0]) == on, (device, now_s)

    def test_the_order_of_questions_changes_no_answer(self) -> None:
        """Who looks ahead, as a battery does, asks about later instants first."""
        forwards, backwards, everybody = self.schedule(), self.schedule(), np.arange(DEVICES)
        instants_s = sorted({at_s for d in range(DEVICES) for at_s, _ in self.changes(forwards, d)})

        def answers(schedule: OnlineSchedule, now_s: float) -> tuple[object, ...]:
            next_s = [schedule.next_change_s(device, now_s) for device in range(DEVICES)]
            online = schedule.online(everybody, now_s).tolist()
            return online, next_s, schedule.next_online_s(now_s)

        later_first = {at_s: answers(backwards, at_s) for at_s in reversed(instants_s)}
        for now_s in instants_s:
            assert answers(forwards, now_s) == later_first[now_s], now_s

    def test_next_online_is_the_first_instant_at_which_somebody_is(self) -> None:
        """Not before, and not after."""
        schedule, everybody, now_s = self.schedule(), np.arange(DEVICES), 0.0
        for _ in range(CHANGES):
            there_s = schedule.next_online_s(now_s)
            assert there_s >= now_s, f"asked at {now_s}, online at {there_s}"
            if there_s == math.inf:
                assert not schedule.online(everybody, now_s).any()
                return
            if there_s > now_s:
                before_s = [now_s + share * (there_s - now_s) for share in (0.0, 0.5, 1 - 1e-6)]
                assert not any(schedule.online(everybody, at_s).any() for at_s in before_s)
            assert schedule.next_online_s(there_s) == there_s
            assert schedule.online(everybody, there_s).any(), f"nobody is online at {there_s}"
            following_s = min(schedule.next_change_s(device, there_s) for device in range(DEVICES))
            if following_s == math.inf:
                return
            now_s = following_s

    def test_it_keeps_within_what_it_says(self) -> None:
        """No session is longer than `longest_session_s`, nor more there than `most_at_once`."""
        given, schedule = self.create(), self.schedule()
        longest_s = given.longest_session_s(self.folder)
        most = given.most_at_once(DEVICES, "phones", Seeds(0), self.folder)
        logs = [self.changes(self.schedule(), device) for device in range(DEVICES)]
        for (start_s, on), (end_s, _) in (pair for log in logs for pair in pairwise(log)):
            lasts_s = end_s - start_s if on else 0.0
            assert lasts_s <= longest_s * (1 + 1e-9), f"a session of {lasts_s} s at {start_s}"
        for now_s in sorted({now_s for log in logs for now_s, _ in log}):
            there = np.count_nonzero(schedule.online(np.arange(DEVICES), now_s))
            assert there <= most, f"{there} are online at {now_s}"

    def test_it_matters_neither_who_asks_nor_how_often(self) -> None:
        """Same seeds, same sessions: of a device alone, or among others asked before it."""
        alone, together = self.schedule(seed=3), self.schedule(seed=3)
        for now_s in np.linspace(0, 2e5, 50).tolist():
            everybody = together.online(np.arange(DEVICES), now_s)
            assert alone.online(np.array([2]), now_s)[0] == everybody[2], now_s
        assert self.changes(self.schedule(seed=3), 1) == self.changes(self.schedule(seed=3), 1)
