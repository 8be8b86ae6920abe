"""W1 to W8 (docs/performance.md) on a GPU: every way to train there, and the processor beside it.

    python -m benchmarks.gpu [--rounds N] [--only W1 W3]

All train like models on like data; a round is training, averaging and an evaluation.  What is told
is the median of the rounds after the first two.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from pydantic import PrivateAttr
from torch import nn

from benchmarks.loops import loop_evaluation, tensor_round
from benchmarks.report import Row, known, leave
from benchmarks.training import WORKLOADS, Contest
from simfl.core.types import Floats
from simfl.core.work import OrderBatch, WorkOrder, WorkResult
from simfl.training import program
from simfl.training.executors.inline import Inline
from simfl.training.executors.sums import Sum
from simfl.training.flat import build
from simfl.training.flops import training_flops
from simfl.training.gpu import use_exact_algorithms
from simfl.training.kernels import Kernel, LoopKernel, recorded

NOTES = (
    "Medians; `lanes_per_s`: clients trained a second, without the evaluation.",
    "limit: FLOPs of training over its time, by those of a large float32 product (no TF32).",
    "plain loop: indexed tensors on the card and `optim.SGD`, client by client.",
    "processor: one core of the same machine, one round after one that warms up.",
)
WARM_UP = 2
CAP_S = 4.0
"""Whoever took so long is timed no more: by its last rounds, the second at the earliest."""


class Timed(Inline):
    """Keeps the seconds that training took, round by round."""

    _seconds: list[float] = PrivateAttr(default_factory=list)

    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """See `Executor.train`."""
        before = time.perf_counter()
        results = super().train(batch)
        self._seconds.append(time.perf_counter() - before)
        return results

    def add_up(self, batch: OrderBatch, weigh: Callable[[Sequence[WorkOrder]], Floats]) -> Sum:
        """See `Executor.add_up`: training and averaging are one on a card."""
        before, noted = time.perf_counter(), len(self._seconds)
        added = super().add_up(batch, weigh)
        self._seconds[noted:] = [time.perf_counter() - before]
        return added

    @property
    def seconds(self) -> list[float]:
        """Of each round's training."""
        return self._seconds


def product_flops(size: int = 8192) -> float:
    """Return the float32 FLOPs per second of a large product."""
    a, b = torch.randn(2, size, size, device="cuda")
    seconds = _rounds(lambda _: torch.mm(a, b), 6)
    return 2 * size**3 / statistics.median(seconds)


def ways(contest: Contest) -> Iterator[tuple[str, Callable[[], Kernel]]]:
    """Yield the kernels that can train a workload on the card."""
    workload = contest.workload

    def module() -> nn.Module:
        return build(workload.model, workload.shape, workload.classes).to("cuda")

    yield "client by client", lambda: LoopKernel(module())
    for seats in (1, 4, 16):

        def of(seats: int = seats) -> Kernel:
            recorded.SEATS = seats
            return recorded.RecordedKernel(module())

        yield f"recorded, {seats} streams", of


def timed(contest: Contest, device: str, kernel: Kernel | None, rounds: int) -> tuple[float, float]:
    """Return the milliseconds of a round, and of its training."""
    program._PROGRAMS.clear()
    contest.task = replace(contest.task, device=device)
    if kernel is not None:
        program.program_of(contest.task).__dict__["kernel"] = kernel
    executor = Timed()
    seconds = _rounds(contest.simfl(executor), rounds)
    training = statistics.median(executor.seconds[-len(seconds) :])
    executor.close()
    return 1e3 * statistics.median(seconds), 1e3 * training


def looped(contest: Contest, rounds: int) -> float:
    """Return the milliseconds of a plain loop's round on the card."""
    workload = contest.workload
    model = build(workload.model, workload.shape, workload.classes).to("cuda")
    clients = [(x.cuda(), y.cuda()) for x, y in contest.clients]
    test_x, test_y = contest.test_x.cuda(), contest.test_y.cuda()

    def run(round_: int) -> None:
        chosen = [clients[client] for client in contest.chosen(round_)]
        tensor_round(model, chosen, workload.epochs, workload.batch, workload.lr)
        loop_evaluation(model, test_x, test_y)

    return 1e3 * statistics.median(_rounds(run, rounds))


def _rounds(run: Callable[[int], object], rounds: int) -> list[float]:
    """Return the seconds of so many rounds, after those that warm up."""
    seconds: list[float] = []
    while len(seconds) < WARM_UP + rounds and (len(seconds) < 2 or sum(seconds) < CAP_S):
        torch.cuda.synchronize()
        before = time.perf_counter()
        run(len(seconds))
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - before)
    return seconds[min(WARM_UP, len(seconds) - 1) :]


def measure(name: str, rounds: int, peak: float) -> list[Row]:
    """Return what each way takes for one workload."""
    contest = Contest(WORKLOADS[name])
    workload = contest.workload
    per_sample = training_flops(
        build(workload.model, workload.shape, workload.classes), workload.shape
    )
    samples = statistics.mean(
        sum(workload.sizes[client] for client in contest.chosen(round_))
        for round_ in range(WARM_UP, WARM_UP + rounds)
    )
    flops = per_sample * samples * workload.epochs
    rows: list[Row] = []

    def add(way: str, round_ms: float, train_ms: float | None = None) -> None:
        row: dict[str, str | float | None] = {"way": way, "round_ms": round_ms}
        row |= {"train_ms": train_ms, "lanes_per_s": None, "limit": None}
        if train_ms is not None:
            row["lanes_per_s"] = 1e3 * workload.per_round / train_ms
            row["limit"] = 1e3 * flops / peak / train_ms
        rows.append(row)
        print(name, *(f"{v:.4g}" if isinstance(v, float) else v for v in row.values()), flush=True)

    add("plain loop", looped(contest, rounds))
    add("processor", *timed(contest, "cpu", None, 1))
    for way, kernel in ways(contest):
        add(way, *timed(contest, "cuda", kernel(), rounds))
    return rows


def main() -> None:
    """Measure, and leave the results in ``results/gpu.*``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=sorted(WORKLOADS), default=sorted(WORKLOADS))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here")
    torch.set_num_threads(1)
    use_exact_algorithms()
    peak = product_flops()
    tables = known("gpu")
    for name in options.only:
        tables[name] = measure(name, options.rounds, peak)
        about = f"{torch.cuda.get_device_name()}, {peak / 1e12:.1f} TFLOP/s in a float32 product"
        leave("gpu", tables, (about, *NOTES))


if __name__ == "__main__":
    main()
