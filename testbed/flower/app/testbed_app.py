"""The Flower app: Flower's FedAvg, with a journal, and clients as slow as their devices."""

import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

FOLDER = Path(os.environ["SIMFL_TESTBED"])
client = ClientApp()
server = ServerApp()


def note(file: str, **facts: object) -> None:
    """Append a line to a journal, which others write to as well."""
    with (FOLDER / file).open("a") as journal:
        journal.write(json.dumps(facts) + "\n")


def process_began() -> float:
    """Return when this process was made, by `time.monotonic`."""
    ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - age_s


@client.train()
def train(message: Message, context: Context) -> Message:
    """Train, and wait until the device would be done that began when this process was made.

    Or when the last of the model had come: Flower makes the process before that.
    """
    torch.set_num_threads(1)
    number = int(context.node_config["partition-id"])
    task = torch.load(FOLDER / f"client-{number}.pt", weights_only=False)
    order = task["devices"] * (int(message.content["config"]["server-round"]) - 1) + number
    [model] = message.content["arrays"].to_numpy_ndarrays()
    events = (FOLDER / f"client-{number}.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in events]
    downloaded = [event["downloaded"] for event in told if "downloaded" in event]
    launched, began = max(process_began(), downloaded[-1]), time.monotonic()
    update = model + task["training"](model, order)
    trained = time.monotonic() - began
    time.sleep(max(launched + task["compute_s"] - time.monotonic(), 0))
    now = time.monotonic()
    note(f"client-{number}.jsonl", order=order, launched=launched, computed=now, trained=trained)
    metrics = MetricRecord({"num-examples": task["samples"], "client": number})
    content = RecordDict({"arrays": ArrayRecord([update]), "metrics": metrics})
    return Message(content=content, reply_to=message)


class Journalled(FedAvg):
    """FedAvg of everybody, whose journal is that of the testbed's own server."""

    def __init__(self, devices: int) -> None:
        super().__init__(fraction_evaluate=0.0, min_available_nodes=devices)
        self.models: list[np.ndarray] = []

    def configure_train(self, server_round, arrays, config, grid):  # noqa: D102
        messages = list(super().configure_train(server_round, arrays, config, grid))
        self._start = time.monotonic()
        if server_round == 1:
            note("server.jsonl", event="began", at=self._start)
        return messages

    def aggregate_train(self, server_round, replies):  # noqa: D102
        closed, replies, used, number = time.monotonic(), list(replies), [], server_round - 1
        found = super().aggregate_train(server_round, replies)
        [model] = found[0].to_numpy_ndarrays()
        self.models.append(model)
        for reply in replies:
            who = int(reply.content["metrics"]["client"])
            facts = {"client": who, "order": self.min_available_nodes * number + who}
            used.append({"order": facts["order"], "staleness": 0})
            facts |= {"at": self._start, "round": number, "bytes": model.nbytes}
            note("server.jsonl", event="ordered", **facts)
        times = {"start": self._start, "closed": closed, "end": time.monotonic()}
        note("server.jsonl", event="round", round=number, used=used, **times)
        return found


def noted(grid: Grid, call: str, event: str) -> None:
    """Let the journal tell of every such call to the SuperLink: when it began, and how long."""
    plain = getattr(grid, call)

    def timed(messages):
        began = time.monotonic()
        replies = plain(messages)
        note("server.jsonl", event=event, at=began, took=time.monotonic() - began)
        return replies

    setattr(grid, call, timed)


@server.main()
def main(grid: Grid, _: Context) -> None:
    """Run the rounds."""
    task = torch.load(FOLDER / "server.pt", weights_only=False)
    noted(grid, "push_messages", "pushed")
    noted(grid, "pull_messages", "looked")
    strategy = Journalled(task["devices"])
    strategy.start(grid, ArrayRecord([task["model"]]), num_rounds=task["rounds"])
    np.save(FOLDER / "models.npy", np.stack(strategy.models))
    note("server.jsonl", event="done")
