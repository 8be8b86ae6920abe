"""What the processes of a real run wrote down, put together."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
import torch

from simfl.build.builder import Builder
from simfl.training import flat
from testbed.network import Counters
from testbed.quotas import CLOCKS

_Event = dict[str, Any]

STEPS = ("received", "launched", "noticed")
"""Of a participation, where Flower tells them: the node has heard of the order; its app's process
was made; the node has noticed that the app is done."""


@dataclass(frozen=True)
class Run:
    """What a run was, measured or simulated; times are seconds since its first round began.

    Attributes:
        rounds: round, start_s, end_s; measured ones also closed_s: before the aggregation, and
            looking_s: what the server's looks took, where it polls.
        clients: a row a participation, columns as in `simfl.core.rows.ClientRow`, as far as known.
        wire: what was counted at each end.
        accuracy: of the model after each round, where it was evaluated.
        cut_off: bytes that had been sent of updates that were under way when the run ended.
    """

    rounds: pd.DataFrame
    clients: pd.DataFrame
    wire: Counters
    accuracy: list[float]
    cut_off: int = 0

    @property
    def by_flower(self) -> bool:
        """Whether Flower ran it: its nodes tell more of a participation than the testbed's."""
        return STEPS[0] + "_s" in self.clients


def writer(journal: TextIO) -> Callable[..., None]:
    """Return what writes facts, given by name, as a line of a journal."""

    def note(**facts: Any) -> None:
        print(json.dumps(facts), file=journal, flush=True)

    return note


def began_at(folder: Path) -> float | None:
    """Return when the first round began, None if it has not."""
    for event in _events(folder / "server.jsonl"):
        if event["event"] == "began":
            return float(event["at"])
    return None


def _events(path: Path) -> Iterator[_Event]:
    if path.exists():
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


def read(
    folder: Path,
    devices: int,
    buffered: bool,
    wire: Counters,
    accuracy: list[float],
    counted: Counters | None = None,
) -> Run:
    """Put the journals in `folder` together.

    Args:
        folder: where the server and so many `devices` wrote them.
        devices: how many.
        buffered: whether rounds are FedBuff's, which nobody is late for; who leaves before its
            update has arrived is offline there, too.
        wire: as in `Run`.
        accuracy: as in `Run`.
        counted: at each end since it was made, if clients note what they had sent.
    """
    events = list(_events(folder / "server.jsonl"))
    began = next(event["at"] for event in events if event["event"] == "began")
    rounds = [event for event in events if event["event"] == "round"]
    used = {use["order"]: use["staleness"] for r in rounds for use in r["used"]}
    ends: dict[int, float] = {event["round"]: event["closed"] for event in rounds}
    over = float(rounds[-1]["end"])
    arrived = {e["order"]: e for e in events if e["event"] == "arrived"}
    phases: dict[int, _Event] = {}
    for number in range(devices):
        for event in _events(folder / f"client-{number}.jsonl"):
            phases.setdefault(event["order"], {}).update(event)
    rows = []
    for order in (event for event in events if event["event"] == "ordered"):
        number = order["order"]
        outcome, landed = "arrived", arrived.get(number)
        if number not in used:
            until = math.inf if buffered else ends.get(order["round"], over) + 0.1
            gone = _has_left(order, events, until) and not (buffered and landed)
            outcome = "offline" if gone else "unfinished" if buffered else "late"
        times = _times(phases.get(number, {}), landed if number in used else None, began)
        rows.append(
            {
                "round": order["round"],
                "client": order["client"],
                "selected_s": order["at"] - began,
                "outcome": outcome,
                "staleness": used.get(number, 0),
                "download_bytes": order["bytes"],
                "upload_bytes": landed["bytes"] if landed else 0,
            }
            | times
        )
    clients = pd.DataFrame(rows)
    cut_off = _cut_off(clients, counted or {})
    return Run(_round_table(events, rounds, began), clients, wire, accuracy, cut_off)


def _cut_off(clients: pd.DataFrame, counted: Counters) -> int:
    """Return the bytes sent of updates that were under way when the run ended."""
    begun = clients[(clients.outcome == "unfinished") & clients.compute_end_s.notna()]
    begun = begun.drop_duplicates("client")  # what it sent since includes a later update's bytes
    ends = [
        (f"c{client}", sent) for client, sent in zip(begun.client, begun.sent_before, strict=True)
    ]
    return sum(counted[end][1] - int(sent) for end, sent in ends if end in counted)


def _has_left(order: _Event, events: Sequence[_Event], until: float) -> bool:
    """Whether the client of an order left from then on, `until` that instant."""
    return any(
        event["client"] == order["client"] and order["at"] <= event["at"] <= until
        for event in events
        if event["event"] == "left"
    )


def _times(phase: _Event, landed: _Event | None, began: float) -> dict[str, float]:
    """Return when a participation's phases ended, and how long it trained; NaN: they did not.

    `sent_before`: what its client's interface had sent when it was trained.
    """
    return (
        {
            "download_end_s": phase.get("downloaded", np.nan) - began,
            "compute_end_s": phase.get("computed", np.nan) - began,
            "upload_end_s": (np.nan if landed is None else landed["at"]) - began,
            "trained_s": phase.get("trained", np.nan),
            "sent_before": phase.get("sent", np.nan),
        }
        | {f"{step}_s": phase[step] - began for step in STEPS if step in phase}
        | {f"{clock}_s": phase[clock] for clock in CLOCKS if clock in phase}
    )


def _round_table(events: Sequence[_Event], rounds: Sequence[_Event], began: float) -> pd.DataFrame:
    """Return a row a round: when it began, was closed and ended, and how long the server looked."""
    looks = [(event["at"], event["took"]) for event in events if event["event"] == "looked"]
    return pd.DataFrame(
        [
            {"round": r["round"]}
            | {f"{x}_s": r[x] - began for x in ("start", "closed", "end")}
            | {"looking_s": sum(took for at, took in looks if r["start"] <= at < r["closed"])}
            for r in rounds
        ]
    )


def accuracies(folder: Path, builder: Builder, data_dir: Path | None) -> list[float]:
    """Return the test accuracy of every model that the server kept."""
    path = folder / "models.npy"
    if not path.exists():
        return []
    scenario = builder.scenario
    test = scenario.data.dataset.load(data_dir, builder.seeds).test
    module = flat.build(scenario.model, *scenario.data.dataset.shape())
    x, y, found = torch.from_numpy(test.x), torch.from_numpy(test.y), []
    with torch.no_grad(), contextlib.suppress(ValueError):
        for model in np.load(path):
            flat.load(module, model.copy())
            found.append(float((module(x).argmax(1) == y).float().mean()))
    return found
