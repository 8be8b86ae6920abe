"""The real run of a scenario: processes in their namespaces, killed and started as it says."""

import os
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import torch

from simfl.build.builder import Builder
from simfl.training import flat
from testbed import quotas
from testbed.client import Client
from testbed.journals import Run, accuracies, began_at, read, writer
from testbed.messages import Floats
from testbed.namespaces import NoQuotas
from testbed.network import Counters, Network
from testbed.processes import FORK, start, to_the_end
from testbed.rules import rules
from testbed.server import Server
from testbed.training import Training

LIMIT_S = 120.0
KEPT_MODELS = 1 << 20
"""Bytes: models no larger than this are kept, a version each, and evaluated afterwards."""


def measure(builder: Builder, network: Network, folder: Path, data_dir: Path | None) -> Run:
    """Run the scenario of `builder` for real; `network` has been entered.

    Args:
        builder: of the scenario.
        network: between the processes.
        folder: for the processes' journals.
        data_dir: where data sets lie.

    Raises:
        Refused: the testbed has no such policy.
        RuntimeError: it did not end in time, or a process failed.
    """
    torch.set_num_threads(1)
    told, fleet = rules(builder), builder.fleet
    compute_s, model = compute_times(builder), initial(builder)
    begin = FORK.Barrier(len(fleet))

    def server() -> None:
        with open(folder / "server.jsonl", "w") as journal:
            serving = Server(told, model, writer(journal))
            to_the_end(serving.run(network.address))
        if model.nbytes <= KEPT_MODELS:
            np.save(folder / "models.npy", np.stack(serving.models))

    def client(number: int) -> None:
        train: Callable[[Floats, int], Floats] = training(builder, number)
        clocks: Callable[[], dict[str, float]] = dict
        least_s = compute_s[number]
        if network.limited:
            group, least_s = network.group(number), 0.0
            train(model, 0)  # a process's first is slower, and no device's rate
            train, clocks = limited(train, group), quotas.Clocks(group)
            quotas.settle(train, model, group, compute_s[number], partial(begin.wait, LIMIT_S))
        with open(folder / f"client-{number}.jsonl", "a") as journal:
            samples = int(fleet.samples[number])
            telling = timed(train, clocks, network.sent)
            work = Client(number, samples, least_s, telling, writer(journal))
            to_the_end(work.run(network.address))

    before = network.counters()
    processes = {"s": start(network, "s", server)}
    for number in range(len(fleet)):
        processes[f"c{number}"] = start(network, f"c{number}", partial(client, number))
    try:
        _outages(processes, network, builder, folder, client)
    finally:
        for process in processes.values():
            process.kill()
            process.join()
    counted = network.counters()
    wire, accuracy = traffic(before, counted), accuracies(folder, builder, data_dir)
    return read(folder, len(fleet), told.buffered, wire, accuracy, counted)


def training(builder: Builder, number: int) -> Training:
    """Return what client `number` of `builder`'s scenario computes."""
    scenario = builder.scenario
    module = flat.build(scenario.model, *scenario.data.dataset.shape())
    cohort = builder.federation.training([number])
    x, y = cohort.x[cohort.rows[0]], cohort.y[cohort.rows[0]]
    local = scenario.training
    steps = local.steps or (local.epochs or 1) * -(-len(y) // local.batch_size)
    return Training(module, x, y, steps, local.batch_size, local.optimizer.lr)


def limited(train: Callable[[Floats, int], Floats], group: str) -> Callable[[Floats, int], Floats]:
    """Return `train`, kept to the share of a core that `group` has."""

    def within(model: Floats, seed: int) -> Floats:
        with quotas.within(group):
            return train(model, seed)

    return within


def timed(
    train: Callable[[Floats, int], Floats],
    clocks: Callable[[], dict[str, float]],
    sent: Callable[[], int],
) -> Callable[[Floats, int], tuple[Floats, dict[str, float]]]:
    """Return `train`, which tells besides what each of the clocks counted, and what was `sent`."""

    def telling(model: Floats, seed: int) -> tuple[Floats, dict[str, float]]:
        began, before = time.monotonic(), clocks()
        delta = train(model, seed)
        trained, after = time.monotonic(), clocks()
        spent = {name: after[name] - before[name] for name in after}
        return delta, {"trained": trained - began, "sent": sent(), **spent}

    return telling


def shares(builder: Builder) -> list[float]:
    """Return about what share of one of this machine's cores computes as each device does.

    Raises:
        NoQuotas: that is more than there is.
    """
    torch.set_num_threads(1)
    train, model = training(builder, 0), initial(builder)
    train(model, 0)
    needed_s = quotas.seconds(train, model)
    result = [needed_s / lasts_s for lasts_s in compute_times(builder)]
    if sum(result) > len(os.sched_getaffinity(0)):
        raise NoQuotas("the devices compute faster than this machine can")
    return result


def traffic(before: Counters, after: Counters) -> Counters:
    """Return what was counted at each end between two instants."""
    pairs = {end: zip(after[end], before[end], strict=True) for end in before}
    return {end: tuple(now - then for now, then in counts) for end, counts in pairs.items()}


def _outages(
    processes: dict[str, BaseProcess],
    network: Network,
    builder: Builder,
    folder: Path,
    client: Callable[[int], None],
) -> None:
    """Kill clients when they leave and start them when they return, until the server is done."""
    fleet, server, limit = builder.fleet, processes["s"], time.monotonic() + LIMIT_S
    while (began := began_at(folder)) is None and server.is_alive() and time.monotonic() < limit:
        time.sleep(0.005)
    changes = [(fleet.leaves_s(number, 0.0), number, False) for number in range(len(fleet))]
    while server.is_alive() and time.monotonic() < limit:
        change_s, number, back = min(changes)
        left = min((began or 0.0) + change_s, limit) - time.monotonic()
        server.join(min(max(left, 0.0), 0.5))
        if failed := [end for end, process in processes.items() if (process.exitcode or 0) > 0]:
            raise RuntimeError(f"processes of the real run failed: {', '.join(failed)}")
        if left > 0.5 or not server.is_alive() or time.monotonic() >= limit:
            continue
        end = f"c{number}"
        changes.remove((change_s, number, back))
        if back:
            processes[end] = start(network, end, partial(client, number))
            changes.append((fleet.leaves_s(number, change_s), number, False))
        else:
            processes[end].kill()
            changes.append((fleet.returns_s(number, change_s), number, True))
    if server.is_alive():
        raise RuntimeError(f"the real run did not end within {LIMIT_S:g} s")
    if server.exitcode:
        raise RuntimeError("the real server failed")


def compute_times(builder: Builder) -> list[float]:
    """Return how long each device computes, seconds."""
    fleet, units = builder.fleet, builder.settings.nominal.units
    return [
        units(int(samples), builder.settings.batch_size) / rate
        for samples, rate in zip(fleet.samples, fleet.rate, strict=True)
    ]


def initial(builder: Builder) -> Floats:
    """Return the model that everybody begins with."""
    scenario = builder.scenario
    shape, classes = scenario.data.dataset.shape()
    seed = builder.seeds.number("init")
    return flat.initial_params(scenario.model, shape, classes, seed).astype(np.float32)
