"""Measured against simulated: the same scenario, run for real and on simfl's clock."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simfl import Options, Scenario
from simfl.build.builder import Builder
from simfl.build.calibrate import Device, calibrated
from simfl.build.calibrated_fleet import fleet
from simfl.core.units import DURATION
from simfl.errors import InputError
from simfl.scenario.parts.fleet import Group, constant
from simfl.sim.networks.shared import Shared
from testbed import quotas
from testbed.flower import federation as flower
from testbed.journals import Run
from testbed.latency import latencies
from testbed.limits import Limit
from testbed.measure import compute_times, measure, shares
from testbed.namespaces import SEND_BYTES, Loopback, Namespaces
from testbed.orders import (
    PHASES,
    first_swap,
    kept,
    orders,
    outcomes,
    participations,
    served,
    updates,
)
from testbed.simulated import shaken, simulate
from testbed.wire import (
    FLOWER,
    GRPC,
    INITIAL_WINDOW,
    MEMORY,
    NOTHING,
    SEGMENT,
    Overhead,
    composition,
    wire_errors,
)

VARIANTS = ("", "deep-queue", "fair-queue", "cpu-quota", "flower")
"""The testbed's own federation; with queues that never overflow; with one for each client at the
server, served in turn; with shares of a core instead of training and waiting; Flower instead."""
SPECIAL = {
    "cpu_quota": ("cpu-quota",),
    "flower": ("", "flower"),
    "homogeneous": ("", "deep-queue"),
    "long_links": ("", "deep-queue"),
}


@dataclass(frozen=True)
class Errors:
    """How far a simulation is from what was measured; shares of one, signed where not a maximum.

    Attributes:
        total: of the time of all rounds.
        mean_round: mean of the rounds' absolute errors, in mean rounds.
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


def errors(real: Run, simulated: Run, overhead: Overhead, rounds: Sequence[int]) -> Errors:
    """Compare two runs of a scenario.

    Args:
        real: as measured.
        simulated: by simfl.
        overhead: of the protocols, for the bytes on the wire.
        rounds: which are compared.
    """
    mine, theirs = (_times(each, rounds) for each in (simulated, real))
    wrong = np.abs(mine - theirs) / theirs.mean()
    a, b = (participations(each, rounds) for each in (simulated, real))
    both = _both(a, b)
    down, up = wire_errors(real, simulated, overhead)
    # With Flower a simulated update has arrived when the server looks, a measured one when it came.
    phases = PHASES[:2] if real.by_flower else PHASES
    return Errors(
        float(mine.sum() / theirs.sum() - 1),
        float(wrong.mean()),
        float(wrong.max()),
        {phase: _phase(both, phase) for phase in phases},
        orders(a, b, rounds),
        outcomes(a, b, rounds),
        float((both.staleness_s == both.staleness_r).mean()) if len(both) else float("nan"),
        down,
        up,
    )


def _times(each: Run, rounds: Sequence[int]) -> np.ndarray:
    """Return how long each round took, what the server did between rounds included."""
    ends = np.concatenate([[0.0], each.rounds.end_s.to_numpy()])
    return np.diff(ends)[list(rounds)]


def _both(simulated: pd.DataFrame, real: pd.DataFrame) -> pd.DataFrame:
    """Return the participations that are in both, columns ending in `_s` and `_r`."""
    return simulated.merge(real, left_index=True, right_index=True, suffixes=("_s", "_r"))


def _phase(both: pd.DataFrame, phase: str) -> float:
    done = both[[f"{phase}_s_s", f"{phase}_s_r"]].dropna()
    mine, theirs = done.mean()
    return float(mine / theirs - 1)


def _with_tcp(scenario: Scenario, variant: str, downlinks_bps: Sequence[float]) -> Scenario:
    """Return the scenario with its queues, what a socket can have under way, and how TCP begins."""
    known: dict[str, Any] = {
        "buffer": SEND_BYTES * SEGMENT / MEMORY,
        "initial_window": INITIAL_WINDOW,
        "queue": "fair" if variant == "fair-queue" else "fifo",
    }
    limits = [Limit(bps).waits for bps in downlinks_bps if bps < math.inf]
    if limits and variant != "deep-queue" and min(_server(scenario)) == math.inf:
        known["queue_limit"] = min(limits)
    network = scenario.network.model_copy(update=known)
    return scenario.model_copy(update={"network": network})


def _with_latency(scenario: Scenario, latencies: Sequence[float]) -> Scenario:
    """Return the scenario with each device's one-way latency, seconds, as it was measured."""
    fleet, first = [], 0
    for group in scenario.fleet:
        those, first = latencies[first : first + group.count], first + group.count
        latency = constant(f"{np.mean(those)} s", DURATION)
        fleet.append(group.model_copy(update={"latency": latency}))
    return scenario.model_copy(update={"fleet": tuple(fleet)})


def _shared(scenario: Scenario) -> Shared:
    network = scenario.network
    assert isinstance(network, Shared)
    return network


def _server(scenario: Scenario) -> tuple[float, float]:
    """Return the server's downlink and uplink in bit/s."""
    return _shared(scenario).server_downlink, _shared(scenario).server_uplink


def compare(
    path: Path, data_dir: Path | None, variant: str = "", loopback: bool = False, times: int = 1
) -> dict[str, Any]:
    """Run a scenario for real and simulate it; return everything that is told of it.

    Args:
        path: the scenario.
        data_dir: where data sets lie; None: the clients train synthetic images.
        variant: one of `VARIANTS`.
        loopback: without namespaces: its links should be unlimited then.
        times: how often it is run for real; all but the first are only held against each other.
    """
    scenario = Scenario.load(path)
    if scenario.data.dataset.needs_files and data_dir is None:
        scenario = Scenario.load(path, ["data.dataset=synthetic_images"])
    builder = Builder(scenario, data_dir, False, Options().make_executor())
    devices = builder.fleet
    links = list(zip(devices.downlink_bps, devices.uplink_bps, strict=True))
    server, size = _server(scenario), 4 * builder.model.parameters
    about = shares(builder) if variant == "cpu-quota" else ()
    queue = variant.removesuffix("-queue") if variant.endswith("-queue") else "short"

    def run_once() -> tuple[Run, list[float], list[float]]:
        far_s = devices.latency_s.tolist()
        ends = Loopback() if loopback else Namespaces(server, links, size, queue, about, far_s)
        with ends as entered, tempfile.TemporaryDirectory() as folder:
            latency_s = latencies(entered, len(links))
            by = flower.measure if variant == "flower" else measure
            measured = by(builder, entered, Path(folder), data_dir)
            settled = [quotas.share(entered.group(client)) for client, _ in enumerate(about)]
            return measured, latency_s, settled

    real, latency_s, settled = run_once()
    given = _with_latency(scenario, latency_s)
    given = (
        flower.with_polling(given, size)
        if variant == "flower"
        else _with_tcp(given, variant, devices.downlink_bps.tolist())
    )
    others = [kept(run_once()[0]) for _ in range(times - 1)]
    name = scenario.name + f"-{variant}" * (not scenario.name.endswith(variant))
    return told(scenario, given, builder, real, data_dir) | {
        "name": name,
        "shares": settled,
        "latency_s": latency_s,
        "others": others,
        "computing": computing(real, compute_times(builder)) if about else [],
    }


def variants(path: Path) -> tuple[str, ...]:
    """Return the variants that a scenario is compared in: its own, and all kinds of queues."""
    if min(_server(Scenario.load(path))) < float("inf"):
        return ("", "deep-queue", "fair-queue")
    return SPECIAL.get(path.stem, ("",))


def told(
    scenario: Scenario, given: Scenario, builder: Builder, real: Run, data_dir: Path | None
) -> dict[str, Any]:
    """Return what a real run and its simulations have in common, as JSON can hold it.

    Args:
        scenario: as written.
        given: with what is known of the protocols, but what they add to bytes and messages.
        builder: of the scenario.
        real: as measured.
        data_dir: where data sets lie.
    """
    train = bool(real.accuracy)
    overhead = FLOWER if real.by_flower else GRPC
    plain = simulate(scenario, data_dir, False)
    stated = simulate(given, data_dir, train, overhead)
    every = range(len(real.rounds))
    half = every[len(every) // 2 :]
    measured = participations(real, every)
    result: dict[str, Any] = {
        "name": scenario.name,
        "rounds": len(every),
        "measured_s": float(real.rounds.end_s.max()),
        "phases_s": {p: float(measured[f"{p}_s"].mean()) for p in PHASES},
        "plain": asdict(errors(real, plain, NOTHING, every)),
        "stated": asdict(errors(real, stated, overhead, every)),
        "shaken": shaken(given, data_dir, overhead, stated),
        "wire": real.wire,
        "composition": composition(real),
        "accuracy": {"measured": real.accuracy, "simulated": stated.accuracy},
        "ends_s": {
            "measured": real.rounds.end_s.tolist(),
            "simulated": stated.rounds.end_s.tolist(),
        },
        "arrivals": [] if real.by_flower else _pairs(real, stated, every),
        "waits": waits(real),
        "given_waits": given_waits(given, stated),
        "swap": first_swap(real, stated),
        "served": served(real, stated) if min(_server(scenario)) < math.inf else {},
        "updates": updates(real),
        "simulated_updates": updates(stated),
        "trained_s": float(real.clients.trained_s.max()),
        "between_rounds_s": _between(real),
    }
    if (fitted := calibrate(given, builder, real)) is not None:
        again = simulate(fitted, data_dir, False)
        result["calibrated"] = asdict(errors(real, again, overhead, half))
    return result


def computing(real: Run, given_s: Sequence[float]) -> list[dict[Any, Any]]:
    """Return what the seconds of every training were where a quota made them.

    Args:
        real: as measured.
        given_s: what each client's rate says.

    Returns:
        client, round, given_s, compute_s as measured, and the seconds of `quotas.CLOCKS`.
    """
    table = participations(real, range(len(real.rounds))).reset_index()
    table["given_s"] = [given_s[client] for client in table.client]
    clocks = [f"{clock}_s" for clock in quotas.CLOCKS]
    columns = ["client", "round", "given_s", "compute_s", *clocks]
    return table[columns].dropna().to_dict("records")


def waits(real: Run) -> dict[str, float]:
    """Return what a participation is made of with Flower, which polls; mean seconds.

    Until the node asks for the order, the model's coming, until the app's process begins, its
    training, until the node notices its end, the update's coming; of a round: from the last update
    until the server looks, and what its looks themselves take.
    """
    clients, rounds = real.clients, real.rounds
    if not real.by_flower:
        return {}
    steps = ["selected", "received", "download_end", "launched", "compute_end", "noticed"]
    ends_s = [clients[f"{step}_s"] for step in [*steps, "upload_end"]]
    phases = [after - before for before, after in pairwise(ends_s)]
    last_s = clients.groupby("round").upload_end_s.max().to_numpy()
    return _waits(phases, rounds.closed_s.to_numpy() - last_s, rounds.looking_s)


def given_waits(given: Scenario, simulated: Run) -> dict[str, float]:
    """Return what `waits` would, of a simulation of a scenario with Flower's polling."""
    clients, groups = simulated.clients, [g for g in given.fleet for _ in range(g.count)]
    if not _shared(given).polling:
        return {}
    rates: dict[str, Any] = {}
    for number in ("downlink", "uplink", "latency"):
        values = [getattr(group, number).value for group in groups]
        rates[number] = np.array(values)[clients.client]
    model_s = 8 * clients.download_bytes.map(FLOWER.gross) / rates["downlink"]
    update_s = 8 * clients.upload_bytes.map(FLOWER.gross) / rates["uplink"]
    asks_s = clients.download_end_s - clients.selected_s - model_s - rates["latency"]
    notice_s = flower.NOTICE_S / 2
    launch_s = 2 * rates["latency"] - notice_s
    training_s = clients.compute_end_s - clients.download_end_s
    here_s = clients.compute_end_s + rates["latency"] + update_s
    look_s = simulated.rounds.end_s.to_numpy() - here_s.groupby(clients["round"]).max().to_numpy()
    phases = [asks_s, model_s, launch_s, training_s, notice_s, update_s]
    return _waits(phases, look_s, 0.0)


def _waits(phases: Sequence[Any], look_s: Any, looking_s: Any) -> dict[str, float]:
    names = ("order", "model", "launch", "training", "notice", "update", "look", "looking")
    times = [*phases, look_s, looking_s]
    return {name: float(np.mean(time)) for name, time in zip(names, times, strict=True)}


def calibrate(scenario: Scenario, builder: Builder, real: Run) -> Scenario | None:
    """Return the scenario with the devices, and the server, of the first half of the rounds.

    None where somebody never sent an update, where a link is shared, or where clients are killed:
    `simfl calibrate` knows nothing of these.
    """
    shared = min(_server(scenario)) < float("inf")
    if shared or any(group.availability.name != "always" for group in scenario.fleet):
        return None
    units = builder.settings.nominal.units
    samples = [units(int(n), builder.settings.batch_size) for n in builder.fleet.samples]
    pilot = participations(real, range(len(real.rounds) // 2)).reset_index()
    if real.by_flower:  # what Flower polls for is no transfer
        pilot["download_s"] = pilot.download_end_s - pilot.received_s
    table = pilot.assign(
        group="devices", samples=[samples[client] for client in pilot.client], epochs=1
    ).sort_values("client", kind="stable")
    try:
        devices = calibrated(table)
    except InputError:
        return None
    if len(devices) < scenario.devices:
        return None
    policy = scenario.rounds.policy.model_copy(update={"server_time": max(_between(real), 0.0)})
    rounds = scenario.rounds.model_copy(update={"policy": policy})
    groups = tuple(_groups(scenario, devices))
    return scenario.model_copy(update={"fleet": groups, "rounds": rounds})


def _groups(scenario: Scenario, devices: Sequence[Device]) -> Iterator[Group]:
    """Yield a group for each device, with what was found of it."""
    groups = [group for group in scenario.fleet for _ in range(group.count)]
    for group, device in zip(groups, devices, strict=True):
        [found] = fleet([device])  # many together would be a sample of a distribution
        yield group.model_validate(found)


def _between(real: Run) -> float:
    """Return the median seconds from a round's close to the next one's begin, of the first half."""
    pilot = real.rounds.iloc[: max(len(real.rounds) // 2, 1)]
    return float((pilot.end_s - pilot.closed_s).median())


def _pairs(real: Run, simulated: Run, rounds: Sequence[int]) -> list[list[float]]:
    """Return (simulated, measured) seconds of each update from its order to its arrival."""
    a, b = (participations(each, rounds) for each in (simulated, real))
    both = _both(a, b)
    mine, theirs = (both[f"upload_end_s_{x}"] - both[f"selected_s_{x}"] for x in "sr")
    return [[round(x, 4), round(y, 4)] for x, y in zip(mine, theirs, strict=True) if x * y > 0]
