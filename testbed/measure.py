"""The real run of a scenario: processes in their namespaces, killed and started as it says."""

import contextlib
import ctypes
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from simfl.build.builder import Builder
from simfl.sim.policies.fedbuff import FedBuff
from simfl.sim.policies.synchronous import Synchronous
from simfl.training import flat
from testbed.client import Client
from testbed.messages import Floats
from testbed.namespaces import Loopback, Namespaces, Refused
from testbed.server import Rules, Server

LIMIT_S = 120.0
_FORK = multiprocessing.get_context("fork")
KEPT_MODELS = 1 << 20
"""Bytes: models no larger than this are kept, a version each, and evaluated afterwards."""


@dataclass(frozen=True)
class Run:
    """What a run was, measured or simulated; times are seconds since its first round began.

    Attributes:
        rounds: round, start_s, end_s.
        clients: a row a participation, columns as in `simfl.core.rows.ClientRow`, as far as known.
        wire: bytes that crossed each end's interface: (received, sent).
        accuracy: of the model after each round, where it was evaluated.
    """

    rounds: pd.DataFrame
    clients: pd.DataFrame
    wire: dict[str, tuple[int, int]]
    accuracy: list[float]


def rules(builder: Builder) -> Rules:
    """Return what the server of `builder`'s scenario does.

    Raises:
        Refused: the real server can't do that.
    """
    rounds, devices = builder.scenario.rounds, builder.scenario.devices
    policy, wanted = rounds.policy, rounds.clients
    if isinstance(policy, FedBuff):
        asked = policy.concurrency or wanted
        told = Rules(rounds.stop.rounds or 0, asked, asked, buffer=policy.buffer)
    elif isinstance(policy, Synchronous) and policy.late == "drop":
        asked = int(np.ceil(round(wanted * policy.over_select, 9)))
        enough = wanted if policy.over_select > 1 else None
        limit = float("inf") if policy.deadline is None else policy.deadline
        if not isinstance(limit, float):
            raise Refused("the testbed's deadlines are durations")
        told = Rules(rounds.stop.rounds or 0, asked, rounds.min_clients or asked, limit, enough)
    else:
        raise Refused(f"the testbed knows no policy {policy.name!r} such as this")
    if asked != devices or not told.rounds:
        raise Refused("the testbed asks every client, for a number of rounds")
    return told


def measure(builder: Builder, network: Namespaces | Loopback, folder: Path) -> Run:
    """Run the scenario of `builder` for real; `network` has been entered.

    Args:
        builder: of the scenario.
        network: between the processes.
        folder: for the processes' journals.

    Raises:
        Refused: the testbed has no such policy.
        RuntimeError: it did not end in time, or a process failed.
    """
    torch.set_num_threads(1)
    told, fleet = rules(builder), builder.fleet
    units = builder.settings.nominal.units
    compute_s = [
        units(int(samples), builder.settings.batch_size) / rate
        for samples, rate in zip(fleet.samples, fleet.rate, strict=True)
    ]
    model = _initial(builder)

    def server() -> None:
        with open(folder / "server.jsonl", "w") as journal:
            serving = Server(told, model, journal)
            grpc_server = serving.serve(network.address, threads=4 * len(fleet) + 4)
            serving.run()
            time.sleep(0.2)  # let the farewells out
            grpc_server.stop(0.2).wait()
        if model.nbytes <= KEPT_MODELS:
            np.save(folder / "models.npy", np.stack(serving.models))

    def client(number: int) -> None:
        train = _trainer(builder, number)
        with open(folder / f"client-{number}.jsonl", "a") as journal:
            Client(number, int(fleet.samples[number]), compute_s[number], train, journal).run(
                network.address
            )

    before = network.counters()
    processes = {"s": _start(network, "s", server)}
    for number in range(len(fleet)):
        processes[f"c{number}"] = _start(network, f"c{number}", lambda n=number: client(n))
    try:
        _outages(processes, network, builder, folder, client)
    finally:
        for process in processes.values():
            process.kill()
            process.join()
    after = network.counters()
    wire = {end: (after[end][0] - before[end][0], after[end][1] - before[end][1]) for end in before}
    return _read(folder, builder, told, wire)


def _start(network: Namespaces | Loopback, end: str, work: Callable[[], None]) -> BaseProcess:
    parent = os.getpid()

    def main() -> None:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with the parent
        if os.getppid() != parent:
            os._exit(1)
        network.enter(end)
        work()

    process = _FORK.Process(target=main, daemon=True)
    process.start()
    return process


def _outages(
    processes: dict[str, BaseProcess],
    network: Namespaces | Loopback,
    builder: Builder,
    folder: Path,
    client: Callable[[int], None],
) -> None:
    """Kill clients when they leave and start them when they return, until the server is done."""
    fleet, server, limit = builder.fleet, processes["s"], time.monotonic() + LIMIT_S
    while (began := _began(folder)) is None and server.is_alive() and time.monotonic() < limit:
        time.sleep(0.005)
    changes = [(fleet.leaves_s(number, 0.0), number, False) for number in range(len(fleet))]
    while server.is_alive() and time.monotonic() < limit:
        change_s, number, back = min(changes)
        left = min((began or 0.0) + change_s, limit) - time.monotonic()
        server.join(max(left, 0.0))
        if not server.is_alive() or time.monotonic() >= limit:
            break
        end = f"c{number}"
        changes.remove((change_s, number, back))
        if back:
            processes[end] = _start(network, end, lambda n=number: client(n))
            changes.append((fleet.leaves_s(number, change_s), number, False))
        else:
            processes[end].kill()
            changes.append((fleet.returns_s(number, change_s), number, True))
    if server.is_alive():
        raise RuntimeError(f"the real run did not end within {LIMIT_S:g} s")
    if server.exitcode:
        raise RuntimeError(f"the real server failed with exit code {server.exitcode}")


def _began(folder: Path) -> float | None:
    for event in _events(folder / "server.jsonl"):
        if event["event"] == "began":
            return float(event["at"])
    return None


def _events(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


def _initial(builder: Builder) -> Floats:
    scenario = builder.scenario
    shape, classes = scenario.data.dataset.shape()
    seed = builder.seeds.number("init")
    return flat.initial_params(scenario.model, shape, classes, seed).astype(np.float32)


def _trainer(builder: Builder, number: int) -> Callable[[Floats], Floats]:
    """Return what trains as client `number` does: plain PyTorch, batches shuffled every epoch."""
    scenario = builder.scenario
    shape, classes = scenario.data.dataset.shape()
    module = flat.build(scenario.model, shape, classes)
    cohort = builder.federation.client_data().training([number])
    x, y = cohort.x[cohort.rows[0]], cohort.y[cohort.rows[0]]
    training = scenario.training
    size = training.batch_size
    steps = training.steps or (training.epochs or 1) * -(-len(y) // size)
    draws = torch.Generator().manual_seed(number)

    def train(model: Floats) -> Floats:
        flat.load(module, model.copy())
        optimizer = torch.optim.SGD(module.parameters(), lr=training.optimizer.lr)
        batches: list[torch.Tensor] = []
        for _ in range(steps):
            batches = batches or list(torch.randperm(len(y), generator=draws).split(size))
            rows = batches.pop(0)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
            optimizer.step()
        return flat.flatten(module) - model

    return train


def _read(folder: Path, builder: Builder, told: Rules, wire: dict[str, tuple[int, int]]) -> Run:
    """Put the journals together."""
    events = list(_events(folder / "server.jsonl"))
    began = next(event["at"] for event in events if event["event"] == "began")
    rounds = [event for event in events if event["event"] == "round"]
    used = {use["order"]: use["staleness"] for r in rounds for use in r["used"]}
    arrived = {e["order"]: e for e in events if e["event"] == "arrived"}
    left = [(e["client"], e["at"]) for e in events if e["event"] == "left"]
    phases: dict[int, dict[str, Any]] = {}
    for number in range(builder.scenario.devices):
        for event in _events(folder / f"client-{number}.jsonl"):
            phases.setdefault(event["order"], {}).update(event)
    ended = {r["round"]: r["closed"] for r in rounds}
    rows = []
    for order in (event for event in events if event["event"] == "ordered"):
        number, client = order["order"], order["client"]
        phase, landed = phases.get(number, {}), arrived.get(number)
        last = ended.get(order["round"], rounds[-1]["end"])
        gone = any(who == client and order["at"] <= at <= last + 0.1 for who, at in left)
        outcome = "arrived" if number in used else "offline" if gone else "late"
        if told.buffer and number not in used:
            outcome = "unfinished"
        staleness = used.get(number, 0)
        rows.append(
            {
                "round": order["round"],
                "client": client,
                "selected_s": order["at"] - began,
                "download_end_s": phase.get("downloaded", np.nan) - began,
                "compute_end_s": phase.get("computed", np.nan) - began,
                "upload_end_s": (landed["at"] if landed and number in used else np.nan) - began,
                "outcome": outcome,
                "staleness": staleness,
                "download_bytes": order["bytes"],
                "upload_bytes": landed["bytes"] if landed else 0,
                "trained_s": phase.get("trained", np.nan),
            }
        )
    table = pd.DataFrame(
        [
            {"round": r["round"], "start_s": r["start"] - began, "end_s": r["end"] - began}
            for r in rounds
        ]
    )
    return Run(table, pd.DataFrame(rows), wire, _accuracies(folder, builder))


def _accuracies(folder: Path, builder: Builder) -> list[float]:
    path = folder / "models.npy"
    if not path.exists():
        return []
    scenario, test = builder.scenario, builder.federation.judged_on("test")
    module = flat.build(scenario.model, *scenario.data.dataset.shape())
    x, y, found = torch.from_numpy(test.x), torch.from_numpy(test.y), []
    with torch.no_grad(), contextlib.suppress(ValueError):
        for model in np.load(path):
            flat.load(module, model.copy())
            found.append(float((module(x).argmax(1) == y).float().mean()))
    return found
