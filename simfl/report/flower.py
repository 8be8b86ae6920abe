"""`simfl.run_flower`: a user's Flower `Strategy` and clients under virtual time."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simfl.coordinators.flower.by_messages import Start
from simfl.core.machine.garbage import set_aside
from simfl.core.types import Ids
from simfl.core.words import numbered
from simfl.errors import InputError
from simfl.report.results import Results
from simfl.report.run import folder_called
from simfl.runs.flower import Flower, FlowerBuilder, refuse_beyond
from simfl.runs.job import jobs
from simfl.runs.options import Options
from simfl.runs.reuse import refuse_foreign, refuse_run
from simfl.runs.run import run_one
from simfl.scenario import Document

PLACEHOLDERS = {
    "data": {"dataset": {"name": "simfl.components.datasets.elsewhere:Elsewhere"}},
    "model": {"name": "simfl.components.models.elsewhere:Elsewhere"},
}


def run_flower(
    scenario: str | Path | Mapping[str, Any],
    client_fn: Callable[..., Any],
    strategy: Callable[[], Any],
    samples: int | Sequence[int],
    out: str | Path | None = None,
    flops_per_sample: int = 0,
    overwrite: bool = False,
    *,
    initial_arrays: Any = None,
    train_config: Mapping[str, Any] | None = None,
    evaluate_config: Mapping[str, Any] | None = None,
    evaluate_fn: Callable[[int, Any], Any] | None = None,
    run_config: Mapping[str, Any] | None = None,
) -> Results:
    """Run every variant and seed of `scenario`, the model and its training being Flower's.

    Returns their results in that order, as `simfl.run` does.

    The scenario says what the fleet is, when rounds begin and end, and by `training.epochs` and
    `training.batch_size` (or `steps`) how much a client computes; it has no `data` and no `model`.
    Such runs are not resumed.

    Args:
        scenario: a file, or plain data.
        client_fn: a `ClientApp`, or, for strategies of ``flwr.server``, ``client_fn(context)`` -> a
            Flower client; ``context.node_config`` has ``partition-id``, the device, and
            ``num-partitions``.
        strategy: returns a fresh Flower strategy, of ``flwr.serverapp`` or ``flwr.server``.
        samples: how many each client trains on, for how long that takes.
        out: the folder of run folders (None: ``runs/NAME``).
        flops_per_sample: of training, where devices compute in FLOP/s.
        overwrite: replace what is in the run folders.
        initial_arrays: an `ArrayRecord`; this and the next three are what a strategy of
            ``flwr.serverapp`` is given by its own `start`.
        train_config: what clients are told for training.
        evaluate_config: and for evaluation.
        evaluate_fn: ``evaluate_fn(round, arrays)`` -> a `MetricRecord`, or None.
        run_config: ``context.run_config`` of clients.

    Raises:
        InputError: the scenario can't be run, or Flower is not installed.
        RunError: a run failed; `ComponentError` if by the strategy, or by all clients of a round
            before any has trained.
    """
    if not 0 <= flops_per_sample < math.inf:
        raise InputError(f"`flops_per_sample` must be at least 0, but got {flops_per_sample}")
    if not callable(strategy):
        kind = type(strategy).__name__
        raise InputError(
            f"`strategy` must be a function that returns a fresh one for each run, such as "
            f"`lambda: {kind}(...)`; got a {kind}"
        )
    start = Start(initial_arrays, train_config, evaluate_config, evaluate_fn)
    planned = []
    for job in jobs(_document(scenario), folder_called(out)):
        refuse_beyond(job.scenario)
        refuse_foreign(job.folder)
        if not overwrite:
            refuse_run(job.folder, "give `overwrite` or another `out`")
        held = _held(samples, job.scenario.devices)
        own = Flower(client_fn, strategy, held, flops_per_sample, run_config or {}, start)
        planned.append((job, own))
    options = Options(executor="inline")
    with set_aside():  # Flower has Python look each time that it takes a model apart
        return Results(
            [run_one(job, options, build=partial(FlowerBuilder, flower=f)) for job, f in planned]
        )


def _held(samples: int | Sequence[int], devices: int) -> Ids:
    """Return `(devices,)` how many samples each client trains on."""
    held = np.asarray(samples)
    if held.shape not in ((), (devices,)):
        clients = numbered(held.size, "client")
        raise InputError(f"`samples` are of {clients}, but the fleet has {devices}")
    if held.dtype.kind not in "iu" or held.min() < 0:
        raise InputError(f"`samples` must be whole numbers from 0 on, but got {samples}")
    return np.broadcast_to(held.astype(np.int64), devices).copy()


def _document(scenario: str | Path | Mapping[str, Any]) -> Document:
    whole = isinstance(scenario, str | Path)
    document = Document.load(scenario) if whole else Document.of(scenario)  # type: ignore[arg-type]
    for part in PLACEHOLDERS:
        if part in document.data:
            raise InputError(f"`{part}` is what Flower's clients have; leave it out")
    return replace(document, data={**document.data, **PLACEHOLDERS})
