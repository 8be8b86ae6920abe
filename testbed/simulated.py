"""The same scenario on simfl's clock, and how much hangs on small things there."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from simfl import Options, Scenario, run
from simfl.build import builder
from simfl.build.fleet import draw_fleet
from simfl.sim.fleet import Fleet
from simfl.sim.networks.polling import PolledLinks
from simfl.sim.networks.shared import Shared
from testbed.journals import Run
from testbed.orders import orders, participations
from testbed.wire import NOTHING, Overhead

SHAKEN, DRAWS = 0.005, 5
"""Devices so much faster or slower, at random (the standard deviation), so often."""


def simulate(
    scenario: Scenario, data_dir: Path | None, train: bool, overhead: Overhead = NOTHING
) -> Run:
    """Run `scenario` on simfl's clock, with what protocols add."""
    added = {"overhead": overhead.per_byte, "message_overhead": overhead.per_message}
    network = scenario.network.model_copy(update=added)
    scenario = scenario.model_copy(update={"network": network})
    options = Options(time_only=not train, data_dir=data_dir)
    with tempfile.TemporaryDirectory() as folder:
        result = run(scenario, Path(folder), options)[0]
        rounds = result.round_rows[["round", "start_s", "end_s"]]
        accuracy = result.round_rows.accuracy.tolist() if train else []
        return Run(rounds, result.clients, {}, accuracy)


def shaken(
    scenario: Scenario, data_dir: Path | None, overhead: Overhead, simulated: Run
) -> dict[str, float]:
    """Return how far a simulation moves when its devices are a little faster or slower.

    And when they begin to ask for work at other instants, where they have to ask.  Where it moves
    far, chance decides, and no clock can tell single rounds.

    Args:
        scenario: which.
        data_dir: where data sets lie.
        overhead: of the protocols.
        simulated: as written.

    Returns:
        `mean_round`: mean absolute difference of the rounds, in mean rounds; `orders`: share of
        rounds whose updates arrive in the same order; both the mean of `DRAWS` simulations.
    """
    every = range(len(simulated.rounds))
    as_written = participations(simulated, every)
    lasts_s = np.diff([0.0, *simulated.rounds.end_s])
    apart, alike = list[float](), list[float]()
    for draw in range(DRAWS):
        with (
            mock.patch.object(PolledLinks, "first_s", _first_ask(scenario, draw)),
            mock.patch.object(builder, "draw_fleet", _moved(draw)),
        ):
            again = simulate(scenario, data_dir, False, overhead)
        moved_s = np.abs(np.diff([0.0, *again.rounds.end_s]) - lasts_s)
        apart.append(float(moved_s.mean() / lasts_s.mean()))
        alike.append(orders(as_written, participations(again, every), every))
    return {"mean_round": float(np.mean(apart)), "orders": float(np.mean(alike))}


def _moved(draw: int) -> Callable[..., Fleet]:
    """Return what draws a scenario's fleet, each of its devices a little faster or slower."""

    def drawn(*facts: Any) -> Fleet:
        fleet = draw_fleet(*facts)
        shares = SHAKEN * np.random.default_rng((draw, 1)).standard_normal(len(fleet))
        return replace(fleet, rate=fleet.rate * (1 + shares))

    return drawn


def _first_ask(scenario: Scenario, draw: int) -> Callable[[PolledLinks, int], float]:
    """Return when each device first asks for work in this draw: any time within the interval."""
    assert isinstance(scenario.network, Shared)
    shares = np.random.default_rng(draw).random(scenario.devices)
    every_s = scenario.network.polling
    return lambda _, device: float(shares[device] * every_s)
