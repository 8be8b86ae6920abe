"""Rounds per second of W1 to W8 (docs/performance.md) against two loops, one thread each.

    python -m benchmarks.training [--rounds N] [--only W1 W3] [--workers 2]

W1 to W4 unless others are named.  All contenders train like models on like data, interleaved round
by round, each round followed by an evaluation; what is compared is the median of the ratios within
a round, for times on a shared machine are noise.  The loops have a process of their own, as simfl
sets how the C library keeps memory.  The same ratio of CPU times stands beside it:
what others do on the machine disturbs it less.  The data are random numbers of the right shapes:
what is measured does not depend on them.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.loops import dataloader_round, loop_evaluation, tensor_round
from benchmarks.models import Cnn, Logistic, Mlp, Transformer
from benchmarks.report import Row, known, leave
from benchmarks.workloads import power_law
from simfl.components.aggregators.weighting import GroupedSum
from simfl.components.datasets.clients import Samples
from simfl.components.local_training import LocalTraining
from simfl.components.models.base import Model
from simfl.components.models.fedacs_cnn import FedacsCnn
from simfl.components.models.fedcore_lstm import FedcoreLstm
from simfl.components.models.resnet import ResNet
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import OrderBatch, Plan, WorkOrder
from simfl.training.data import Partitioned
from simfl.training.executors.base import Executor
from simfl.training.executors.inline import Inline
from simfl.training.executors.processes import Processes
from simfl.training.flat import build, initial_params
from simfl.training.task import Task

NOTES = (
    "Each round: local training of all selected clients, averaging, evaluation on 10,000 samples"
    " (W5: 100, W6: 200, W7: 1,000, W8: 100).",
    "Interleaved round by round; medians of the ratios within a round to the DataLoader loop.",
    "One thread each; workers are processes of one thread each, and the loops have their own.",
)


@dataclass(frozen=True)
class Workload:
    """One reference workload."""

    model: Model
    shape: tuple[int, ...]
    sizes: list[int]
    per_round: int
    batch: int
    epochs: int
    lr: float
    target: float
    tested: int = 10_000
    classes: int = 10
    tokens: bool = False


WORKLOADS = {
    "W1": Workload(Mlp(), (1, 28, 28), [600] * 100, 10, 64, 2, 0.01, 3.2),
    "W2": Workload(Cnn(), (1, 28, 28), [500] * 100, 10, 50, 2, 0.01, 2.8),
    "W3": Workload(Logistic(), (60,), power_law(), 100, 8, 10, 0.01, 120.0),
    "W4": Workload(FedacsCnn(), (3, 32, 32), [500] * 100, 10, 50, 1, 0.01, 4.0),
    "W5": Workload(ResNet(), (3, 32, 32), [50] * 20, 2, 25, 1, 0.01, 1.0, 100),
    "W6": Workload(FedcoreLstm(), (80,), [50] * 20, 4, 10, 1, 0.01, 1.0, 200, 90, True),
    "W7": Workload(Transformer(), (32,), [100] * 20, 10, 20, 1, 0.01, 1.0, 1000, 90, True),
    "W8": Workload(Cnn(units=3100), (1, 28, 28), [20] * 100, 20, 20, 1, 0.01, 1.0, 100),
}
USUAL = ("W1", "W2", "W3", "W4")


class Contest:
    """One workload, and every contender's way through a round of it."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        generator = torch.Generator().manual_seed(0)
        total = sum(workload.sizes)
        x, y = self._samples(total, generator)
        self.test_x, self.test_y = self._samples(workload.tested, generator)
        rows = np.split(np.arange(total), np.cumsum(workload.sizes)[:-1])
        self.clients = [(x[r], y[r]) for r in rows]  # client by client, as `federate` has it
        self.task = Task(
            workload.model,
            workload.shape,
            workload.classes,
            Partitioned(Samples(x.numpy(), y.numpy()), rows, [np.zeros(0, np.int64)] * len(rows)),
            LocalTraining(workload.batch, Sgd(lr=workload.lr)),
        )
        self.initial = initial_params(workload.model, workload.shape, workload.classes, 0)

    def _samples(self, n: int, chance: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        workload = self.workload
        if workload.tokens:
            x = torch.randint(workload.classes, (n, *workload.shape), generator=chance)
        else:
            x = torch.randn(n, *workload.shape, generator=chance)
        return x, torch.randint(workload.classes, (n,), generator=chance)

    def chosen(self, round_: int) -> list[int]:
        """Return the clients of a round, the same for all contenders."""
        rng = np.random.default_rng(round_)
        picked = rng.choice(len(self.clients), self.workload.per_round, replace=False)
        return sorted(picked.tolist())

    def loop(self, one_round: Callable[..., None]) -> Callable[[int], None]:
        """Return a round of a plain loop."""
        model = build(self.workload.model, self.workload.shape, self.workload.classes)

        def run(round_: int) -> None:
            clients = [self.clients[client] for client in self.chosen(round_)]
            one_round(model, clients, self.workload.epochs, self.workload.batch, self.workload.lr)
            loop_evaluation(model, self.test_x, self.test_y)

        return run

    def simfl(self, executor: Executor) -> Callable[[int], None]:
        """Return a round of simfl's execution: train, average, evaluate."""
        executor.start(self.task)
        model = [self.initial]
        plan = Plan(full_epochs=self.workload.epochs)

        def weigh(orders: Sequence[WorkOrder]) -> NDArray[np.float64]:
            samples = np.array([self.workload.sizes[order.client] for order in orders], np.float64)
            return samples / samples.sum()

        def run(round_: int) -> None:
            orders = [
                WorkOrder(client, 0, round_, round_, plan, 1000 * round_ + client)
                for client in self.chosen(round_)
            ]
            batch = OrderBatch({round_: model[0]}, orders)
            if executor.worth_adding_up(len(orders), batch.model_bytes):
                total = executor.add_up(batch, weigh).total
            else:
                added = GroupedSum()
                for result, weight in zip(executor.train(batch), weigh(orders), strict=True):
                    added.add(weight, result.params)
                total = added.value()
            assert total is not None
            model[0] = total.astype(np.float32, copy=False)
            executor.evaluate(self.task, model[0], self.test_x, self.test_y)

        return run


Timed = Callable[[int], tuple[float, float]]
"""Makes a round; returns its seconds by the clock on the wall, and of CPU time."""
LOOPS = {"DataLoader loop": dataloader_round, "tensor loop": tensor_round}


def timed(run: Callable[[int], None]) -> Timed:
    """Return `run` with its times."""

    def measured(round_: int) -> tuple[float, float]:
        before, cpu_before = time.perf_counter(), time.process_time()
        run(round_)
        return time.perf_counter() - before, time.process_time() - cpu_before

    return measured


def serve_loops(name: str, channel: Connection) -> None:
    """Make the rounds of plain loops that `channel` asks for, in a process of their own."""
    torch.set_num_threads(1)
    contest = Contest(WORKLOADS[name])
    loops = {label: timed(contest.loop(one_round)) for label, one_round in LOOPS.items()}
    while (asked := channel.recv()) is not None:
        label, round_ = asked
        channel.send(loops[label](round_))


@contextmanager
def plain_loops(name: str) -> Iterator[dict[str, Timed]]:
    """Give the plain loops, in another process, and end it."""
    spawning = multiprocessing.get_context("spawn")
    near, far = spawning.Pipe()
    process = spawning.Process(target=serve_loops, args=(name, far))
    process.start()

    def loop(label: str) -> Timed:
        def ask(round_: int) -> tuple[float, float]:
            near.send((label, round_))
            seconds, cpu = near.recv()
            return seconds, cpu

        return ask

    try:
        yield {label: loop(label) for label in LOOPS}
    finally:
        near.send(None)
        process.join()


def measure(name: str, rounds: int, workers: int) -> list[Row]:
    """Return each contender's time per round, interleaved, and its ratio to the first's."""
    contest = Contest(WORKLOADS[name])
    executors = {"simfl": Inline(), f"simfl, {workers} workers": Processes(workers=workers)}
    if workers < 2:
        executors.popitem()
    torch.set_num_threads(1)
    seconds: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    try:
        with plain_loops(name) as contenders:
            for label, executor in executors.items():
                contenders[label] = timed(contest.simfl(executor))
            for round_ in range(rounds + 1):
                for label, run in contenders.items():
                    wall, own = run(round_)
                    seconds.setdefault(label, []).append(wall)
                    cpu.setdefault(label, []).append(own)
    finally:
        for executor in executors.values():
            executor.close()
    ratios = _ratios(seconds)
    by_cpu = _ratios({label: times for label, times in cpu.items() if "workers" not in label})
    return [
        {
            "contender": label,
            "ms_per_round": 1e3 * statistics.median(times[1:]),
            "rounds_per_second_x": ratios[label],
            "by_cpu_time_x": by_cpu.get(label),
        }
        for label, times in seconds.items()
    ]


def _ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Return the median over rounds of the first contender's time by each one's; no warm-up."""
    first, *_ = seconds.values()
    return {
        label: statistics.median(a / b for a, b in zip(first[1:], times[1:], strict=True))
        for label, times in seconds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", nargs="+", choices=sorted(WORKLOADS), default=USUAL)
    parser.add_argument("--workers", type=int, default=2, help="also measure so many processes")
    parser.add_argument("--results", default="training", help="name of the files of results")
    options = parser.parse_args()
    tables = known(options.results)
    for name in options.only:
        title = f"{name}, target {WORKLOADS[name].target:g}x"
        tables[title] = measure(name, options.rounds, options.workers)
        leave(options.results, dict(sorted(tables.items())), NOTES)


if __name__ == "__main__":
    main()
