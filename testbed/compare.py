"""Measured against simulated: the same scenario, run for real and on simfl's clock."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simfl import Options, Scenario, run
from simfl.build.builder import Builder
from simfl.build.calibrate import calibrated, measurements
from testbed.measure import Run, measure
from testbed.namespaces import Loopback, Namespaces

PER_BYTE = (1514 / 1448) * (1 + 9 / 16384) - 1
"""Added to every byte: Ethernet, IP and TCP headers (66 B) of 1448 B, HTTP/2 frames of 16 KiB."""
ACK = 66.0
"""Bytes of an acknowledgement; one for every segment or two goes the other way."""
NOISE_S = 0.03
"""Arrivals no further apart than this are ties: what repeated rounds scatter by on a busy machine."""
PHASES = ("download", "compute", "upload")


@dataclass(frozen=True)
class Errors:
    """How far a simulation is from what was measured; shares of one, signed where not a maximum.

    Attributes:
        total: of the time of all rounds.
        mean_round: mean of the rounds' absolute errors.
        max_round: the largest of them.
        phases: of the mean time of each phase.
        orders: share of rounds whose arrivals come in the same order, ties aside.
        outcomes: share of rounds in which the same clients arrived in time, were late, or offline.
        staleness: share of participations that are as stale.
        down, up: of the bytes that crossed the server's interface; nan where nobody counted.
    """

    total: float
    mean_round: float
    max_round: float
    phases: dict[str, float]
    orders: float
    outcomes: float
    staleness: float
    down: float
    up: float


def simulate(scenario: Scenario, data_dir: Path | None, train: bool, overhead: float) -> Run:
    """Run `scenario` on simfl's clock, with so much protocol overhead."""
    network = scenario.network.model_copy(update={"overhead": overhead})
    scenario = scenario.model_copy(update={"network": network})
    options = Options(time_only=not train, data_dir=data_dir)
    with tempfile.TemporaryDirectory() as folder:
        result = run(scenario, Path(folder), options)[0]
        rounds = result.rounds[["round", "start_s", "end_s"]]
        accuracy = result.rounds.accuracy.tolist() if train else []
        return Run(rounds, result.clients, {}, accuracy)


def errors(real: Run, simulated: Run, overhead: float, rounds: Sequence[int]) -> Errors:
    """Compare two runs of a scenario.

    Args:
        real: as measured.
        simulated: by simfl.
        overhead: of the protocols, for the bytes on the wire.
        rounds: which are compared.
    """
    mine, theirs = (_times(each, rounds) for each in (simulated, real))
    wrong = np.abs(mine - theirs) / theirs
    a, b = (_table(each, rounds) for each in (simulated, real))
    both = a.join(b, lsuffix="_s", rsuffix="_r", how="inner")
    down, up = _wire(real, simulated, overhead)
    return Errors(
        float(mine.sum() / theirs.sum() - 1),
        float(wrong.mean()),
        float(wrong.max()),
        {phase: _phase(both, phase) for phase in PHASES},
        float(np.mean([_same_order(a, b, number) for number in rounds])),
        float(np.mean([_outcomes(a, number) == _outcomes(b, number) for number in rounds])),
        float((both.staleness_s == both.staleness_r).mean()) if len(both) else float("nan"),
        down,
        up,
    )


def _times(each: Run, rounds: Sequence[int]) -> np.ndarray:
    """Return how long each round took, what the server did between rounds included."""
    ends = np.concatenate([[0.0], each.rounds.end_s.to_numpy()])
    return np.diff(ends)[list(rounds)]


def _table(each: Run, rounds: Sequence[int]) -> pd.DataFrame:
    """Return the participations of `rounds` by client and how many it had before."""
    table = each.clients.sort_values("selected_s", kind="stable")
    table = table.assign(turn=table.groupby("client").cumcount())
    ends = [table.selected_s, *(table[f"{phase}_end_s"] for phase in PHASES)]
    for phase, begun, ended in zip(PHASES, ends, ends[1:], strict=False):
        table[f"{phase}_s"] = ended - begun
    return table[table["round"].isin(list(rounds))].set_index(["client", "turn"])


def _phase(both: pd.DataFrame, phase: str) -> float:
    done = both[[f"{phase}_s_s", f"{phase}_s_r"]].dropna()
    mine, theirs = done.mean()
    return float(mine / theirs - 1)


def _arrivals(table: pd.DataFrame, number: int) -> dict[tuple[int, int], float]:
    counted = table[(table["round"] == number) & (table.outcome == "arrived")]
    return dict(zip(counted.index, counted.upload_end_s, strict=True))


def _same_order(a: pd.DataFrame, b: pd.DataFrame, number: int) -> bool:
    mine, theirs = _arrivals(a, number), _arrivals(b, number)
    if set(mine) != set(theirs):
        return False
    pairs = [(i, j) for i in mine for j in mine if mine[j] - mine[i] > NOISE_S]
    return all(theirs[j] > theirs[i] for i, j in pairs)


def _outcomes(table: pd.DataFrame, number: int) -> dict[tuple[int, int], str]:
    return dict(table[table["round"] == number].outcome.items())


def _wire(real: Run, simulated: Run, overhead: float) -> tuple[float, float]:
    """Return the relative errors of the bytes away from the server and towards it."""
    if "s" not in real.wire:
        return float("nan"), float("nan")
    received, sent = real.wire["s"]
    down = float(simulated.clients.download_bytes.sum()) * (1 + overhead)
    up = float(simulated.clients.upload_bytes.sum()) * (1 + overhead)
    ack = ACK / 1448 * ACKS_PER_SEGMENT
    return (down + up * ack) / sent - 1, (up + down * ack) / received - 1


ACKS_PER_SEGMENT = 0.7
"""As measured: between one for two segments (delayed) and one for each (after a pause)."""


def compare(path: Path, data_dir: Path | None, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Run a scenario for real and simulate it; return everything that is told of it."""
    scenario = Scenario.load(path)
    builder = Builder(scenario, data_dir, False, Options().make_executor())
    fleet, network = builder.fleet, scenario.network
    links = list(zip(fleet.downlink_bps, fleet.uplink_bps, strict=True))
    ends = Namespaces((network.server_downlink, network.server_uplink), links)
    with ends as entered, tempfile.TemporaryDirectory() as folder:
        real = measure(builder, entered, Path(folder))
    return told(scenario, builder, real, data_dir)


def told(scenario: Scenario, builder: Builder, real: Run, data_dir: Path | None) -> dict[str, Any]:
    """Return what a real run and its simulations have in common, as JSON can hold it."""
    train = bool(real.accuracy)
    plain = simulate(scenario, data_dir, False, 0.0)
    stated = simulate(scenario, data_dir, train, PER_BYTE)
    every = range(len(real.rounds))
    half = every[len(every) // 2 :]
    result: dict[str, Any] = {
        "name": scenario.name,
        "rounds": len(every),
        "measured_s": float(real.rounds.end_s.max()),
        "plain": asdict(errors(real, plain, 0.0, every)),
        "stated": asdict(errors(real, stated, PER_BYTE, every)),
        "wire": real.wire,
        "accuracy": {"measured": real.accuracy, "simulated": stated.accuracy},
        "arrivals": _pairs(real, stated, every),
        "trained_s": float(real.clients.trained_s.max()),
        "between_rounds_s": _between(real),
    }
    return result


def _between(real: Run) -> float:
    """Return the mean seconds from a round's last arrival to the next round's begin."""
    arrived = real.clients[real.clients.outcome == "arrived"]
    last = arrived.groupby("round").upload_end_s.max()
    return float((real.rounds.set_index("round").end_s - last).dropna().median())


def _pairs(real: Run, simulated: Run, rounds: Sequence[int]) -> list[list[float]]:
    """Return (simulated, measured) seconds of each update from its order to its arrival."""
    a, b = (_table(each, rounds) for each in (simulated, real))
    both = a.join(b, lsuffix="_s", rsuffix="_r", how="inner")
    mine, theirs = (both[f"upload_end_s_{x}"] - both[f"selected_s_{x}"] for x in "sr")
    return [[round(x, 4), round(y, 4)] for x, y in zip(mine, theirs, strict=True) if x * y > 0]
