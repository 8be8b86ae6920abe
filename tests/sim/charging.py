"""Batteries to look at, and when their chargers are plugged in."""

import math
from typing import Any

import numpy as np

from simfl.sim.battery import Batteries

ONE = np.array([0])


class Windows:
    """Plugged in, or online, during given windows."""

    def __init__(self, *windows: tuple[float, float]) -> None:
        self.windows = windows

    def online(self, devices: Any, now_s: float) -> Any:
        return np.full(len(devices), any(a <= now_s < b for a, b in self.windows))

    def next_change_s(self, device: int, now_s: float) -> float:
        return min((t for window in self.windows for t in window if t > now_s), default=math.inf)

    def next_online_s(self, now_s: float) -> float:
        if self.online(ONE, now_s)[0]:
            return now_s
        return min((a for a, _ in self.windows if a > now_s), default=math.inf)


ALWAYS = Windows((0, math.inf))


def battery(
    *windows: tuple[float, float], level: float = 1.0, idle: float = 0.0, charge: float = 10.0
) -> Batteries:
    """A battery of 100 J with a reserve of 20%."""
    plugged = Windows(*windows) if windows else None
    return Batteries(np.array([100.0]), np.array([level]), 0.2, charge, idle, plugged)


def level(of: Batteries, now_s: float) -> float:
    return float(of.level_j(ONE, now_s)[0])


class EveryDay(Windows):
    """Plugged in, or online, for the first hour of every day."""

    def __init__(self) -> None:
        super().__init__((0, 3600))

    def online(self, devices: Any, now_s: float) -> Any:
        return super().online(devices, now_s % 86_400)

    def next_change_s(self, device: int, now_s: float) -> float:
        day = now_s // 86_400 * 86_400
        return day + (3600 if now_s - day < 3600 else 86_400)


class EveryOther(Windows):
    """Plugged in every other stretch of so many seconds, for ever."""

    def __init__(self, length_s: float) -> None:
        self.length_s = length_s

    def online(self, devices: Any, now_s: float) -> Any:
        return np.full(len(devices), now_s // self.length_s % 2 == 0)

    def next_change_s(self, device: int, now_s: float) -> float:
        return (now_s // self.length_s + 1) * self.length_s
