"""What a run will cost on this machine, roughly: enough to order runs, and to tell small ones."""

import math
from dataclasses import dataclass

from simfl.core.work import Plan
from simfl.scenario.scenario import Scenario

FLOPS, STEP_S = 1e10, 2e-5
"""Floating-point operations in a host second of one core, and host seconds of a mini-batch beside
its arithmetic, where PyTorch trains."""
COMPILED_FLOPS, COMPILED_STEP_S = 5e10, 3e-6
"""The same where the compiled kernel does: W1 and W3 of `benchmarks/results`, rounded down."""
PARTICIPATION_S = 3e-4
"""Host seconds that the clock, the log and the rest take of a participation."""
LOGGED_BYTES = 1500
"""Bytes on disk of a participation: its events and its row."""
ROUNDS = 100
"""Rounds of a run that ends by something else."""
SAMPLES, SAMPLES_EACH = 60_000, 600
"""Samples of a data set that tells only when it is loaded: so many, or so many per client."""
JUDGED = 1 / 6
"""Test samples for each training sample, as MNIST has."""
PROCESS_BYTES = 3e8
"""Memory of a process that has imported PyTorch and simulates a small fleet."""
DEVICE_BYTES = 91
"""Memory of one device more (docs/scale.md)."""


@dataclass(frozen=True)
class Estimate:
    """What a run will take; it may be several times more or less.

    Attributes:
        rounds: until it ends.
        host_s: host seconds on one core.
        memory_bytes: of its process.
        disk_bytes: of its folder.
    """

    rounds: int
    host_s: float
    memory_bytes: float
    disk_bytes: float


def estimate(scenario: Scenario, time_only: bool = False) -> Estimate:
    """Return what a run of `scenario` will take."""
    rounds = scenario.rounds.stop.rounds or ROUNDS
    times = rounds * scenario.rounds.clients
    clock_s, disk = times * PARTICIPATION_S, float(times * LOGGED_BYTES)
    process = PROCESS_BYTES + DEVICE_BYTES * scenario.devices
    if time_only:
        return Estimate(rounds, clock_s, process, disk)
    from simfl.build.model import model_facts

    facts, dataset = model_facts(scenario), scenario.data.dataset
    training, devices = scenario.training, scenario.devices
    total = dataset.samples_known or min(SAMPLES, SAMPLES_EACH * devices)
    samples_each = max(scenario.data.partition.samples_each(total, devices), 1)
    batch = training.batch_size
    plan = Plan.nominal(training.epochs or 0, training.steps)
    judged = rounds / scenario.evaluation.every * total * JUDGED
    flops = (times * plan.units(samples_each, batch) + judged * facts.forward_units) * facts.flops
    held = 2.0 * total * math.prod(dataset.shape()[0]) * 4
    held += facts.parameters * 4.0 * (4 + scenario.rounds.clients)
    rate, step_s = (COMPILED_FLOPS, COMPILED_STEP_S) if facts.compiled else (FLOPS, STEP_S)
    return Estimate(
        rounds,
        clock_s + times * plan.n_steps(samples_each, batch) * step_s + flops / rate,
        process + held,
        disk + facts.parameters * 4.0,
    )
