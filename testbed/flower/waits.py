"""What a participation is made of with Flower, whose nodes and server poll."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from simfl import Scenario
from testbed.flower.federation import NOTICE_S
from testbed.given import network_of
from testbed.journals import Run
from testbed.wire import FLOWER


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
    if not network_of(given).polling:
        return {}
    rates: dict[str, Any] = {}
    for number in ("downlink", "uplink", "latency"):
        values = [getattr(group, number).value for group in groups]
        rates[number] = np.array(values)[clients.client]
    model_s = 8 * clients.download_bytes.map(FLOWER.gross) / rates["downlink"]
    update_s = 8 * clients.upload_bytes.map(FLOWER.gross) / rates["uplink"]
    asks_s = clients.download_end_s - clients.selected_s - model_s - rates["latency"]
    notice_s = NOTICE_S / 2
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
