"""What was measured of devices, and the numbers of theirs that it tells.

A participation's seconds are taken to be ``latency + 8 * bytes / rate`` each way and
``constant + samples * epochs / rate`` in between, as virtual time has them.  A device's numbers are
those that fit best (see `robust_fit`).  Where all its messages are of one size its latency can't be
told from its rate, and where it always trained as much neither can the constant: they are taken as
given or zero, and the rates are medians.  A constant that scattering trainings would show by chance
is none, either.  Virtual time has no constant of its own: half of it goes before each transfer.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from simfl.build.calibration.robust_fit import fit, leverage
from simfl.core.types import Floats
from simfl.core.words import few
from simfl.errors import InputError

MOST_NAMED = 5
"""Clients that a message names."""
_SPREAD = 1.05
"""Sizes that differ by less than this factor are one size."""
_LEAST_SHARE = 0.25
"""What of a training is not constant counts as no less of its time where its scatter is told."""
_TOLD = 9.0
"""Twice the gain in log-likelihood from which a constant is told from none: three standard errors.
"""
_NO_TIME_S = 1e-9
"""Latencies below this are none."""
_ROUNDING = 1e-24
"""Squares of errors that add up to less are none."""


@dataclass(frozen=True)
class Device:
    """What was found of one device.

    Attributes:
        client: its name in the measurements.
        group: its group's name.
        compute: samples per second.
        downlink: bit/s.
        uplink: bit/s.
        latency_s: before each transfer, its half of `constant_s` included.
        constant_s: of each training, whatever its size.
        errors: by phase, the relative errors of its participations that ended it.
        scatter: of its trainings, the squares of the logarithms of measured over fitted seconds,
            added up, and what a jitter of 1 would have them add up to.
        leverage_s: the standard error of `latency_s` if its transfers' errors had one of 1.
    """

    client: str
    group: str
    compute: float
    downlink: float
    uplink: float
    latency_s: float
    constant_s: float = 0.0
    errors: dict[str, Floats] = field(default_factory=dict, compare=False)
    scatter: tuple[float, float] = (0.0, 0.0)
    leverage_s: float = 0.0

    @property
    def residuals(self) -> dict[str, float]:
        """By phase, the median of the errors' absolute values."""
        return {phase: float(np.median(np.abs(error))) for phase, error in self.errors.items()}


def calibrated(table: pd.DataFrame, latency_s: float = 0.0) -> list[Device]:
    """Return the devices of a table of measurements, in the order of their first rows.

    Args:
        table: as `measurements` returns it.
        latency_s: one-way, where it can't be told from the rates.

    Those that never ended one of the phases are left out; see `left_out`.

    Raises:
        InputError: all are left out, or the latency is no time or leaves none to move bytes.
    """
    if not latency_s >= 0:
        raise InputError(f"a latency must be at least 0 s, but got {latency_s:g} s")
    devices = [
        _device(client, group, rows, latency_s)
        for client, group, rows in _clients(table)
        if not _lacks(client, rows)
    ]
    if not devices:
        raise InputError(few(left_out(table), MOST_NAMED, "; "))
    return devices


def left_out(table: pd.DataFrame) -> list[str]:
    """Return who can't be calibrated, and what each never did: ``pilot.csv:3: client 'a' ...``."""
    lacking = ((rows, _lacks(client, rows)) for client, _, rows in _clients(table))
    return [f"{_place(rows)}{why}" for rows, why in lacking if why]


def without_latency(table: pd.DataFrame) -> list[str]:
    """Return the clients whose latency can't be told from their rates: what was given is taken."""
    return [
        client
        for client, _, rows in _clients(table)
        if not _lacks(client, rows) and not any(_varies(bits) for bits, _ in _moved(rows).values())
    ]


def _clients(table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for (group, client), rows in table.groupby(["group", "client"], sort=False):
        yield str(client), str(group), rows


def _lacks(client: str, rows: pd.DataFrame) -> str:
    """Return what a client never did, so that nothing can be said of it ("": it did all)."""
    for phase in ("download", "compute", "upload"):
        if not rows[f"{phase}_s"].notna().any():
            return f"client {client!r} has no measured {phase}: column {phase}_s"
    if not rows.upload_bytes[rows.upload_s.notna()].any():
        return f"client {client!r} never sent a byte: column upload_bytes"
    return ""


def _place(rows: pd.DataFrame) -> str:
    """Return where the first of some rows stands, if they are of a file."""
    return f"{rows.place.iloc[0]}: " if "place" in rows else ""


def _device(client: str, group: str, rows: pd.DataFrame, latency_s: float) -> Device:
    """Return what the rows of a client tell; `latency_s` is taken where they don't tell that."""
    trained = rows[rows.compute_s.notna()]
    units = (trained.samples * trained.epochs).to_numpy(float)
    seconds = trained.compute_s.to_numpy(float)
    constant_s, slowness = _line(units, seconds)
    latency_s, down, up, errors, leverage_s = _links(rows, latency_s)
    fitted_s = constant_s + units * slowness
    errors["compute"] = fitted_s / seconds - 1
    latency_s += constant_s / 2
    logs = np.log(seconds / fitted_s)
    free = len(logs) - (2 if constant_s else 1)
    # The constant becomes latency, which has no jitter: the rest must scatter as much more.
    jittered = np.maximum(units * slowness / fitted_s, _LEAST_SHARE)
    scatter = float(np.sum(logs**2)), free * float(np.mean(jittered**2))
    rates = 1 / slowness, 1 / down, 1 / up
    return Device(client, group, *rates, latency_s, constant_s, errors, scatter, leverage_s)


def _line(sizes: Floats, seconds: Floats) -> tuple[float, float]:
    """Return the constant and the seconds per unit of size."""
    if _varies(sizes) and len(sizes) > 2:
        _, plain = fit(sizes[:, None], seconds)
        (constant, slowness), better = fit(np.column_stack([np.ones_like(sizes), sizes]), seconds)
        if len(sizes) * math.log(max(plain, _ROUNDING) / max(better, _ROUNDING)) > _TOLD:
            return constant, slowness
    return 0.0, float(np.median(seconds / sizes))


def _moved(rows: pd.DataFrame) -> dict[str, tuple[Floats, Floats]]:
    """Return `(n,)` the bits and `(n,)` the seconds of the transfers that ended, by way."""
    moved = {}
    for phase in ("download", "upload"):
        ended = rows[rows[f"{phase}_s"].notna()]
        moved[phase] = (
            8 * ended[f"{phase}_bytes"].to_numpy(float),
            ended[f"{phase}_s"].to_numpy(float),
        )
    return moved


def _links(
    rows: pd.DataFrame, latency_s: float
) -> tuple[float, float, float, dict[str, Floats], float]:
    """Return latency, seconds per bit each way, `(n,)` relative errors by phase, and leverage."""
    moved, leverage_s = _moved(rows), 0.0
    (down, down_s), (up, up_s) = moved.values()
    if _varies(down) or _varies(up):
        ones = np.ones(len(down) + len(up))
        ways = [np.r_[down, np.zeros(len(up))], np.r_[np.zeros(len(down)), up]]
        columns = np.column_stack([ones, *ways])
        (latency_s, *slow), _ = fit(columns, np.r_[down_s, up_s])
        leverage_s = leverage(columns, np.array([latency_s, *slow]))
        latency_s = latency_s if latency_s > _NO_TIME_S else 0.0
    else:
        shortest_s = min(float(np.median(down_s)), float(np.median(up_s)))
        if latency_s >= shortest_s:
            raise InputError(
                f"{_place(rows)}a latency of {latency_s:g} s leaves no time to move bytes: "
                f"transfers of client {rows.client.iloc[0]!r} took {shortest_s:g} s in the median"
            )
        slow = [
            float(np.median(np.maximum(seconds - latency_s, 1e-9) / bits))
            for bits, seconds in moved.values()
        ]
    errors = {
        phase: (latency_s + bits * slowness) / seconds - 1
        for (phase, (bits, seconds)), slowness in zip(moved.items(), slow, strict=True)
    }
    return latency_s, slow[0], slow[1], errors, leverage_s


def _varies(sizes: Floats) -> bool:
    return bool(sizes.max() > _SPREAD * sizes.min())
