"""What W1 spends its time on, and what oneDNN for evaluation and small chunks of lanes save.

    python -m benchmarks.parts

CPU milliseconds of one thread, medians; ways to do the same thing take turns.
"""

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

from benchmarks.report import Row, leave
from benchmarks.training import WORKLOADS, Contest
from simfl.core.work import OrderBatch, Plan, WorkOrder
from simfl.training.evaluate import forward
from simfl.training.flat import build
from simfl.training.kernels import stacked
from simfl.training.kernels.stacked import StackedKernel
from simfl.training.local import train
from simfl.training.program import program_of

ROUNDS = 15
STEPS, LANES, BATCH, INPUTS, UNITS = 20, 10, 64, 784, 64


def milliseconds(ways: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median CPU time of each way, taken in turn, after one warm-up."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        for name, way in ways.items():
            began = time.process_time()
            way()
            spent[name].append(1e3 * (time.process_time() - began))
    return {name: statistics.median(times[1:]) for name, times in spent.items()}


def rows(found: Mapping[str, float]) -> list[Row]:
    """Return a row per way."""
    return [{"way": name, "cpu_ms": value} for name, value in found.items()]


def products(contest: Contest) -> dict[str, Callable[[], object]]:
    """Return the large products of one round of W1's training, and gathering its inputs."""
    x, w = torch.randn(LANES, BATCH, INPUTS), torch.randn(LANES, UNITS, INPUTS)
    delta, out = 1e-6 * torch.randn(LANES, BATCH, UNITS), torch.empty(LANES, BATCH, UNITS)
    data = contest.test_x.flatten(1)
    drawn = np.random.default_rng(0).integers(0, len(data), (STEPS, LANES * BATCH))
    inputs = x.view(-1, INPUTS)

    def multiply() -> None:
        for _ in range(STEPS):
            torch.bmm(x, w.transpose(1, 2), out=out)
            w.baddbmm_(delta.transpose(1, 2), x)

    def gather() -> None:
        for some in torch.from_numpy(drawn):
            torch.index_select(data, 0, some, out=inputs)

    return {"large products of training": multiply, "gathering inputs": gather}


def evaluations(contest: Contest) -> dict[str, Callable[[], object]]:
    """Return W1's evaluation with oneDNN, and with the same module left as PyTorch has it."""
    program = program_of(contest.task)
    plain = build(contest.workload.model, contest.workload.shape, 10).eval()

    def by_mkl() -> None:
        with torch.no_grad():
            for first in range(0, len(contest.test_x), 1000):
                plain(contest.test_x[first : first + 1000])

    def by_onednn() -> None:
        list(forward(program, contest.test_x, None))

    return {"MKL": by_mkl, "oneDNN": by_onednn}


def chunks(contest: Contest, clients: int) -> dict[str, Callable[[], object]]:
    """Return training with as many lanes at once as the cache holds, and with all at once."""
    kernel = program_of(contest.task).kernel
    assert isinstance(kernel, StackedKernel)
    plan = Plan(full_epochs=contest.workload.epochs)
    orders = [WorkOrder(client, 0, 1, 0, plan, client) for client in range(clients)]

    def way(room: int) -> Callable[[], object]:
        def run() -> None:
            kernel._room = room
            train(contest.task, OrderBatch({0: contest.initial}, orders))

        return run

    return {
        "as many lanes as the cache holds": way(stacked.CACHE_BYTES),
        "all lanes at once": way(2**30),
    }


def main() -> None:
    """Measure, print, write the results."""
    torch.set_num_threads(1)
    contest = Contest(WORKLOADS["W1"])
    tables = {
        "W1's parts, 10 clients": rows(milliseconds(products(contest))),
        "Evaluation of W1, 10,000 samples": rows(milliseconds(evaluations(contest))),
        "Training 10 clients of W1": rows(milliseconds(chunks(contest, 10))),
        "Training 40 clients of W1": rows(milliseconds(chunks(contest, 40))),
    }
    leave("parts", tables, [__doc__.strip().splitlines()[-1]])


if __name__ == "__main__":
    main()
