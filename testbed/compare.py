"""Measured against simulated: the same scenario, run for real and on simfl's clock."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simfl import Options, Scenario
from simfl.build.builder import Builder
from testbed import quotas
from testbed.calibration import between_rounds_s, calibrate
from testbed.errors import arrivals_s, errors
from testbed.flower import federation as flower
from testbed.flower.waits import given_waits, waits
from testbed.given import server_bps, server_is_limited, with_latency, with_tcp
from testbed.journals import Run
from testbed.latency import latencies
from testbed.measure import compute_times, measure, shares
from testbed.namespaces import Namespaces
from testbed.network import Loopback
from testbed.orders import PHASES, first_swap, kept, participations, served, updates
from testbed.rules import rules
from testbed.simulated import shaken, simulate
from testbed.wire import FLOWER, GRPC, NOTHING, composition

VARIANTS = ("", "deep-queue", "fair-queue", "cpu-quota", "flower")
"""The testbed's own federation; with queues that never overflow; with one for each client at the
server, served in turn; with shares of a core instead of training and waiting; Flower instead."""
SPECIAL = {
    "cpu_quota": ("cpu-quota",),
    "flower": ("", "flower"),
    "homogeneous": ("", "deep-queue"),
    "long_links": ("", "deep-queue"),
}
"""Scenarios of clients that share no link -> the variants that they are compared in, if not the
testbed's own federation alone."""


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
    server, size = server_bps(scenario), 4 * builder.model.parameters
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
    given = with_latency(scenario, latency_s)
    given = (
        flower.with_polling(given, size)
        if variant == "flower"
        else with_tcp(given, variant, devices.downlink_bps.tolist())
    )
    others = [kept(run_once()[0]) for _ in range(times - 1)]
    name = scenario.name
    return told(scenario, given, builder, real, data_dir) | {
        "name": name if name.endswith(variant) else f"{name}-{variant}",
        "shares": settled,
        "latency_s": latency_s,
        "others": others,
        "computing": computing(real, compute_times(builder)) if about else [],
        "waited_s": waited(builder, variant),
    }


def waited(builder: Builder, variant: str) -> list[float]:
    """Return how long each client computes, seconds: it waits until the scenario's time is over.

    Nothing where nobody waits, and where rounds end with a deadline or, as FedBuff's, overlap:
    there a round is not one client's computing and a rest.
    """
    plain = rules(builder)
    if variant == "cpu-quota" or plain.buffered or plain.deadline_s < math.inf:
        return []
    return compute_times(builder)


def variants(path: Path) -> tuple[str, ...]:
    """Return the variants that a scenario is compared in: its own, and all kinds of queues."""
    if server_is_limited(Scenario.load(path)):
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
        "arrivals": [] if real.by_flower else arrivals_s(real, stated, every),
        "waits": waits(real),
        "given_waits": given_waits(given, stated),
        "swap": first_swap(real, stated),
        "served": served(real, stated) if server_is_limited(scenario) else {},
        "updates": updates(real),
        "simulated_updates": updates(stated),
        "trained_s": float(real.clients.trained_s.max()),
        "between_rounds_s": between_rounds_s(real),
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
