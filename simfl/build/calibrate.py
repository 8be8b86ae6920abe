"""From what was measured of a few devices to the fleet of a scenario.

A participation's seconds are taken to be ``latency + 8 * bytes / rate`` each way and
``constant + samples * epochs / rate`` in between, as virtual time has them.  A device's numbers are
those of the least sum of squared errors, logarithms of fitted over measured seconds, but that
errors far beyond the usual count by their size or less, so that a few outliers move little.  Where
all its messages are of one size its latency can't be told from its rate, and where it always
trained as much neither can the constant: they are taken as given or zero, and the rates are
medians.  A constant that scattering trainings would show by chance is none, either.  Virtual time
has no constant of its own: half of it goes before each transfer.  How a group's trainings scatter
becomes its ``compute_jitter``; how its transfers do does not become ``link_jitter``, for that may
be the doing of others.
"""

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import OptimizeResult, least_squares
from scipy.stats import chi2

from simfl.core.table import open_csv, refuse_twice
from simfl.core.types import Floats
from simfl.core.units import DATA_RATE, DURATION, SAMPLE_RATE, Dimension, format_quantity
from simfl.errors import InputError
from simfl.scenario.document import safe_name
from simfl.scenario.part import NAME

COLUMNS = (
    "client", "samples", "epochs", "download_s", "download_bytes", "compute_s", "upload_s",
    "upload_bytes",
)  # fmt: skip
"""Of a file of measurements, a row a participation; `group` may be there too.  A phase that did not
end has an empty cell for its seconds."""
MOST_NAMED = 5
"""Clients that a message names."""
MANY = 8
"""So many devices of a group are taken for a sample of a distribution; fewer stand for themselves.
"""
_SPREAD = 1.05
"""Sizes that differ by less than this factor are one size."""
STEADY = 0.01
"""Trainings that scatter less (standard deviation of the logarithm) take as long as each other."""
_LEAST_SHARE = 0.25
"""What of a training is not constant counts as no less of its time where its scatter is told."""
_TOLD = 9.0
"""Twice the gain in log-likelihood from which a constant is told from none: three standard errors.
"""
_BY_CHANCE = 0.997
"""Share of samples whose spread by chance is smaller than what tells devices apart."""
_NO_TIME_S = 1e-9
"""Latencies below this are none."""
_ROUNDING = 1e-24
"""Squares of errors that add up to less are none."""
_OUTLIER = 0.02
"""Errors above this count less than by their square."""
_CAUCHY = 2.385 * 1.4826
"""Times the median error: where Cauchy's loss begins to set aside; of normal errors it loses 5%."""


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


def measurements(path: Path) -> pd.DataFrame:
    """Read a file of measurements.

    Raises:
        InputError: naming the line and the column of what is wrong.
    """
    with open_csv(path) as text:
        reader = csv.DictReader(text)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise InputError(
                f"{path}:1: no column {', '.join(missing)}; expected {', '.join(COLUMNS)}, and "
                "group if devices have any"
            )
        refuse_twice(path, reader.fieldnames or (), (*COLUMNS, "group"))
        rows = [_row(path, reader.line_num, row) for row in reader]
    if not rows:
        raise InputError(f"{path}: no row of measurements")
    return pd.DataFrame(rows)


def _row(path: Path, line: int, row: dict[str, Any]) -> dict[str, Any]:
    if None in row or None in row.values():
        raise InputError(f"{path}:{line}: expected a cell for each column of line 1")
    parsed: dict[str, Any] = {
        "client": row["client"].strip(),
        "group": (row.get("group") or "devices").strip(),
        "place": f"{path}:{line}",
    }
    if not parsed["client"]:
        raise InputError(f"{path}:{line}: column client: expected a name")
    for name in COLUMNS[1:]:
        cell = row[name].strip()
        try:
            value = float(cell) if cell or not name.endswith("_s") else math.nan
        except ValueError:
            value = -1.0
        ended = not math.isnan(value) or not cell
        if not ended or value == math.inf or value < 0 or (value == 0 and name != "upload_bytes"):
            raise InputError(
                f"{path}:{line}: column {name}: expected a number above zero, got {cell!r}"
            )
        parsed[name] = value
    return parsed


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
        raise InputError("; ".join(left_out(table)[:MOST_NAMED]))
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
    trained = rows[rows.compute_s.notna()]
    units, seconds = (
        (trained.samples * trained.epochs).to_numpy(float),
        trained.compute_s.to_numpy(float),
    )
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
        _, plain = _fit(sizes[:, None], seconds)
        (constant, slowness), better = _fit(np.column_stack([np.ones_like(sizes), sizes]), seconds)
        if len(sizes) * math.log(max(plain, _ROUNDING) / max(better, _ROUNDING)) > _TOLD:
            return constant, slowness
    return 0.0, float(np.median(seconds / sizes))


def _moved(rows: pd.DataFrame) -> dict[str, tuple[Floats, Floats]]:
    """Return the bits and the seconds of the transfers that ended, by way."""
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
    """Return the latency, seconds per bit each way, relative errors by phase, and the leverage."""
    moved, leverage_s = _moved(rows), 0.0
    (down, down_s), (up, up_s) = moved.values()
    if _varies(down) or _varies(up):
        ones = np.ones(len(down) + len(up))
        ways = [np.r_[down, np.zeros(len(up))], np.r_[np.zeros(len(down)), up]]
        columns = np.column_stack([ones, *ways])
        (latency_s, *slow), _ = _fit(columns, np.r_[down_s, up_s])
        leverage_s = _leverage(columns, np.array([latency_s, *slow]))
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


def _leverage(columns: Floats, factors: Floats) -> float:
    """Return the first factor's standard error where errors, of logarithms, have one of 1."""
    slopes = columns * factors / (columns @ factors)[:, None]  # of the factors' logarithms
    return float(factors[0] * math.sqrt(max(np.linalg.pinv(slopes.T @ slopes)[0, 0], 0.0)))


def _varies(sizes: Floats) -> bool:
    return bool(sizes.max() > _SPREAD * sizes.min())


def _fit(columns: Floats, seconds: Floats) -> tuple[list[float], float]:
    """Return the factors, none negative, of the `(n, k)` columns that make `(n,)` seconds best.

    And what their errors add up to, logarithms of fitted over measured.  (Errors in shares of what
    was measured would count seconds that are too long for less than those as much too short, and
    rates that scatter would come out too high.)  Whoever is far out by the scatter that is then
    seen is set aside more and more, as in Yohai (1987), "High breakdown-point and high efficiency
    robust estimates for regression".
    """
    relative = columns / seconds[:, None]
    scale = 1 / np.abs(relative).max(axis=0)
    matrix = relative * scale
    start = np.maximum(np.linalg.lstsq(matrix, np.ones(len(seconds)))[0], 1e-6)

    def error(factors: Floats) -> Floats:
        return np.asarray(np.log(matrix @ factors))

    def slope(factors: Floats) -> Floats:
        return np.asarray(matrix / (matrix @ factors)[:, None])

    def fitted(start: Floats, loss: Literal["soft_l1", "cauchy"], usual: float) -> OptimizeResult:
        bounds = (0, np.inf)
        return least_squares(error, start, slope, bounds, loss=loss, f_scale=usual, xtol=1e-12)

    sturdy = fitted(start, "soft_l1", _OUTLIER)
    usual = _CAUCHY * float(np.median(np.abs(sturdy.fun)))
    factors = fitted(sturdy.x, "cauchy", usual).x if usual > _OUTLIER else sturdy.x
    return [max(float(factor), 1e-18) for factor in factors * scale], float(sturdy.cost)


def fleet(devices: Sequence[Device], count: int | None = None) -> list[dict[str, Any]]:
    """Return the groups of a scenario's `fleet`: a distribution where there are `MANY` devices.

    Args:
        devices: as `calibrated` returns them.
        count: how many devices there are to be (None: as many as were measured).

    Raises:
        InputError: `count` is too small for every group to have a device.
    """
    groups: list[tuple[str, list[Device]]] = []
    for name, mine in _members(devices).items():
        if len(mine) >= MANY:
            groups.append((name, mine))
        else:
            groups += [(f"{name}-{device.client}", [device]) for device in mine]
    names = _names([name for name, _ in groups])
    measured = np.cumsum([0, *(len(mine) for _, mine in groups)])
    counts = np.diff(np.rint(measured * ((count or len(devices)) / len(devices))).astype(int))
    if counts.min() < 1:
        raise InputError(f"{count} devices are too few for {len(groups)} groups")
    return [
        _group(name, mine, int(n)) for name, (_, mine), n in zip(names, groups, counts, strict=True)
    ]


def _names(wanted: Sequence[str]) -> list[str]:
    """Return a name for each group that a scenario can have, different from all others'."""
    names: list[str] = []
    for name in wanted:
        name = name if re.match(NAME, name) else safe_name(name)
        names.append(f"{name}-{len(names)}" if name in names else name)
    return names


def _members(devices: Sequence[Device]) -> dict[str, list[Device]]:
    names = list(dict.fromkeys(device.group for device in devices))
    return {name: [device for device in devices if device.group == name] for name in names}


def distributed(devices: Sequence[Device]) -> list[list[Device]]:
    """Return the groups of devices that `fleet` takes for samples of a distribution."""
    return [members for members in _members(devices).values() if len(members) >= MANY]


def lognormal(values: Floats, noise: float = 0.0) -> tuple[float, float]:
    """Return median and sigma of the log-normal distribution that `values` are a sample of.

    A spread that errors would show by chance is none.

    Args:
        values: of the devices.
        noise: variance of their logarithms that is an error of their fit, and no device's own.
    """
    logs, free = np.log(values), len(values) - 1
    variance = float(np.var(logs, ddof=1))
    if free * variance < noise * chi2.ppf(_BY_CHANCE, free):
        return math.exp(float(np.mean(logs))), 0.0
    return math.exp(float(np.mean(logs))), math.sqrt(variance - noise)


def compute_noise(devices: Sequence[Device]) -> float:
    """Return the variance of the logarithms of devices' compute rates that their jitter explains.

    The rates are medians of few trainings, which scatter too; as if of normal errors.
    """
    trained = np.array([len(device.errors.get("compute", ())) for device in devices])
    return _scatter(devices) ** 2 * float(np.mean(math.pi / 2 / (trained + math.pi / 2 - 1)))


def latency_noise(devices: Sequence[Device]) -> float:
    """Return the variance of the logarithms of devices' latencies that their fit explains.

    The errors of all their transfers together tell how far a latency is off by chance; those that
    are far out count as three usual ones.
    """
    told = [device for device in devices if device.leverage_s and device.latency_s]
    if not told:
        return 0.0
    errors = [device.errors[phase] for device in told for phase in ("download", "upload")]
    logs = np.log1p(np.concatenate(errors))
    usual = 1.4826 * float(np.median(np.abs(logs)))
    free = max(len(logs) - 3 * len(told), 1)
    variance = float(np.sum(np.minimum(np.abs(logs), 3 * usual) ** 2)) / free
    shares = np.array([device.leverage_s / device.latency_s for device in told])
    return variance * float(np.mean(np.minimum(shares, 1 / math.sqrt(variance or 1.0)) ** 2))


def _group(name: str, devices: Sequence[Device], count: int) -> dict[str, Any]:
    def drawn(value: Callable[[Device], float], dimension: Dimension, noise: float = 0.0) -> Any:
        values = np.array([value(device) for device in devices])
        median = _written(float(np.median(values)), dimension)
        if len(devices) == 1 or (values <= 0).any() or np.ptp(values) <= 1e-6 * values.max():
            return median
        middle, sigma = lognormal(values, noise)
        median, sigma = _written(middle, dimension), round(sigma, 4)
        return {"distribution": "lognormal", "median": median, "sigma": sigma} if sigma else median

    noise = compute_noise(devices)
    return {
        "name": name,
        "count": count,
        "compute": drawn(lambda device: device.compute, SAMPLE_RATE, noise),
        "downlink": drawn(lambda device: device.downlink, DATA_RATE),
        "uplink": drawn(lambda device: device.uplink, DATA_RATE),
        "latency": drawn(lambda device: device.latency_s, DURATION, latency_noise(devices)),
        **_jitter(devices),
    }


def _written(value: float, dimension: Dimension) -> str:
    """Return a quantity with four digits."""
    return format_quantity(float(f"{value:.4g}"), dimension)


def _jitter(devices: Sequence[Device]) -> dict[str, Any]:
    sigma = _scatter(devices)
    return {"compute_jitter": {"sigma": round(sigma, 4)}} if sigma > STEADY else {}


def _scatter(devices: Sequence[Device]) -> float:
    """Return by what sigma their trainings scatter."""
    squares, free = (sum(column) for column in zip(*(one.scatter for one in devices), strict=True))
    return math.sqrt(squares / free) if free > 0 else 0.0
