"""The real run of a scenario by Flower, in the testbed's namespaces.

What Flower does when is told by its own log, whose lines get an instant as they come, and by the
app's journal.  Telemetry and the search for newer versions are off.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

from benchmarks.environments import environment
from simfl import Scenario
from simfl.build.builder import Builder
from simfl.errors import InputError
from simfl.scenario.distributions.base import Constant
from testbed.journals import Run, accuracies, read
from testbed.measure import compute_times, initial, traffic, training
from testbed.network import Counters, Network
from testbed.processes import die_with_parent, start
from testbed.rules import rules
from testbed.wire import FLOWER

HERE = Path(__file__).parent
PACKAGES = ["flwr==1.30.0"]
"""Of the last versions whose SuperNodes speak gRPC; 1.41 speaks HTTP."""
LIMIT_S = 300.0
IDLE_S = 60.0
"""So long nodes that have nothing to do are watched: twenty polls of each, and two heartbeats."""
UP = "Starting Flower SuperExec"
POLLING_S, LAUNCH_S, NOTICE_S = 3.0, 1.0, 0.5
"""How often nodes ask and the server looks; somebody looks for orders, to make a process of the app
for each; and a node looks whether its app is done."""
FLEET, CONTROL, APPS = 9092, 9093, 9094
"""Ports: the SuperLink's for nodes and for `flwr run`; the first SuperNode's for its apps."""
PHASES = {
    "Receiving: train": "received",
    "Received successfully": "downloaded",
    "Sending: train": "noticed",
    "Sent successfully": "sent",
}
"""What a SuperNode logs -> what it tells of."""


def measure(builder: Builder, network: Network, folder: Path, data_dir: Path | None) -> Run:
    """Run the scenario of `builder` by Flower; arguments as of the other `measure`.

    Args:
        builder: of the scenario.
        network: between the processes.
        folder: for journals, and for what Flower keeps.
        data_dir: where data sets lie.

    Raises:
        NotInstalled: Flower can't be had.
        InputError: the scenario asks for more than Flower's FedAvg of everybody.
        RuntimeError: it did not end in time.
    """
    told, devices = rules(builder), len(builder.fleet)
    if told.buffered or told.enough < told.asked or told.deadline_s < float("inf"):
        raise InputError("Flower runs synchronous rounds of everybody, with no deadline")
    programs = environment(HERE.parents[1] / "build" / "flower", PACKAGES, ours=True)
    _prepare(builder, folder, told.rounds)
    host, variables = network.address.split(":")[0], _variables(programs, folder)

    def begin(end: str, name: str, *words: str) -> BaseProcess:
        def work() -> None:
            _watch([str(programs / words[0]), *words[1:]], variables, folder, name, devices)

        return start(network, end, work)

    link = ("--insecure", "--fleet-api-address", f"0.0.0.0:{FLEET}")
    processes = [begin("s", "superlink", "flower-superlink", *link)]
    names = ["superlink", *(f"client-{number}" for number in range(devices))]
    for number in range(devices):
        node = ("--superlink", f"{host}:{FLEET}", "--node-config", f"partition-id={number}")
        apps = ("--clientappio-api-address", f"127.0.0.1:{APPS + 1 + number}")
        words = ("flower-supernode", "--insecure", *node, *apps)
        processes.append(begin(f"c{number}", f"client-{number}", *words))
    try:
        logs = [folder / f"{name}.log" for name in names]
        _until(lambda: all(UP in _text(log) for log in logs), folder, 60.0)
        idle = network.counters()
        time.sleep(IDLE_S)
        before, began = network.counters(), time.monotonic()
        submit = begin("s", "run", "flwr", "run", str(HERE / "app"), "testbed")
        processes.append(submit)
        _until(lambda: '"done"' in _text(folder / "server.jsonl"), folder, LIMIT_S, submit)
        wire, lasted_s = traffic(before, network.counters()), time.monotonic() - began
        wire = without(wire, traffic(idle, before), lasted_s / IDLE_S)
    finally:
        for process in processes:
            process.kill()
            process.join()
    with (folder / "server.jsonl").open("a") as journal:
        journal.writelines(json.dumps(arrival) + "\n" for arrival in _arrivals(builder, folder))
    return read(folder, devices, False, wire, accuracies(folder, builder, data_dir))


def with_polling(scenario: Scenario, size: int) -> Scenario:
    """Return the scenario with what Flower's sources say of its polling, and nothing measured.

    Somebody looks every second for orders to begin an app's process for, and sees one as soon as
    the model begins to come: what is left of that wait when all of it has come, and half of
    `NOTICE_S`, are a constant of each participation, half of which goes before each transfer.

    Args:
        scenario: as written.
        size: of the model, bytes.
    """
    network = scenario.network.model_copy(update={"polling": POLLING_S})
    fleet = []
    for group in scenario.fleet:
        if not isinstance(group.latency, Constant) or not isinstance(group.downlink, Constant):
            raise InputError(
                "Flower's constant is added to a latency and a downlink that are numbers"
            )
        download_s = 8 * FLOWER.gross(size) / group.downlink.value
        launch_s = max(LAUNCH_S - download_s, 0.0) ** 2 / (2 * LAUNCH_S)
        more = {"value": group.latency.value + (launch_s + NOTICE_S / 2) / 2}
        latency = group.latency.model_copy(update=more)
        fleet.append(group.model_copy(update={"latency": latency}))
    return scenario.model_copy(update={"network": network, "fleet": tuple(fleet)})


def without(counted: Counters, idle: Counters, times: float) -> Counters:
    """Return what was counted less `times` what was while nobody had anything to do."""
    return {
        end: tuple(max(round(n - times * m), 0) for n, m in zip(counts, idle[end], strict=True))
        for end, counts in counted.items()
    }


def _prepare(builder: Builder, folder: Path, rounds: int) -> None:
    """Write what the app is to do, and where `flwr run` finds the SuperLink."""
    devices, compute_s, model = len(builder.fleet), compute_times(builder), initial(builder)
    torch.save({"devices": devices, "rounds": rounds, "model": model}, folder / "server.pt")
    for number in range(devices):
        facts = {"training": training(builder, number), "compute_s": compute_s[number]}
        facts |= {"devices": devices, "samples": int(builder.fleet.samples[number])}
        torch.save(facts, folder / f"client-{number}.pt")
    (folder / "flwr").mkdir()
    (folder / "flwr" / "config.toml").write_text(
        f'[superlink.testbed]\naddress = "127.0.0.1:{CONTROL}"\ninsecure = true\n'
    )


def _variables(programs: Path, folder: Path) -> dict[str, str]:
    """Return the environment of Flower's programs."""
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(HERE.parents[1]),
        "SIMFL_TESTBED": str(folder),
        "FLWR_HOME": str(folder / "flwr"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "OMP_NUM_THREADS": "1",
    }


def _watch(
    words: list[str], variables: dict[str, str], folder: Path, name: str, devices: int
) -> None:
    """Run a program of Flower's; keep its log, and write to the journal what it tells."""
    program = subprocess.Popen(
        words, env=variables, cwd=folder, preexec_fn=die_with_parent, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
    )  # fmt: skip
    assert program.stdout is not None
    turns = 0
    with (folder / f"{name}.log").open("w", buffering=1) as log:
        for line in program.stdout:
            now = time.monotonic()
            log.write(f"{now:.4f} {line}")
            for text, phase in PHASES.items():
                if text in line and name.startswith("client-"):
                    turns += phase == "received"
                    order = devices * (turns - 1) + int(name.removeprefix("client-"))
                    with (folder / f"{name}.jsonl").open("a") as journal:
                        journal.write(json.dumps({"order": order, phase: now}) + "\n")
    raise SystemExit(program.wait())


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _until(
    done: Callable[[], bool], folder: Path, limit_s: float, submit: BaseProcess | None = None
) -> None:
    """Wait; a `submit` that fails says that it will never be done."""
    end = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > end or (submit is not None and submit.exitcode):
            logs = "\n".join(path.read_text()[-2000:] for path in sorted(folder.glob("*.log")))
            raise RuntimeError(f"Flower failed, or was not done within {limit_s:g} s:\n{logs}")
        time.sleep(0.1)


def _arrivals(builder: Builder, folder: Path) -> Iterator[dict[str, object]]:
    """Yield when updates had been sent, as the testbed's own server would note it."""
    size = 4 * builder.model.parameters
    for number in range(len(builder.fleet)):
        for line in (folder / f"client-{number}.jsonl").read_text().splitlines():
            if "sent" in (event := json.loads(line)):
                yield {"event": "arrived", "at": event["sent"], "order": event["order"]} | {
                    "bytes": size
                }
