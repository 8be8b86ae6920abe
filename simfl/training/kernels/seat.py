"""Where one client at a time trains on a GPU: a stream, a copy of the model, recorded steps."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from simfl.components.local_training import LocalTraining
from simfl.training.augment import Augmenter
from simfl.training.flat import Layout, trained
from simfl.training.gpu import on_device
from simfl.training.kernels.base import Lane
from simfl.training.kernels.optimize import LaneOptimizer
from simfl.training.kernels.steps import filled_up

BLOCK_BYTES = 16 * 2**20
"""Inputs that are gathered at once."""
STEPS = 8
"""Steps of a recording; the few left over at the end of a lane are played one by one."""
WARM_UP = 3
"""Steps before the first recording, in which libraries choose their algorithms."""


class Seat:
    """A stream of a GPU, and all memory that a client's steps read and write there.

    The memory stays where it is, so that the operations of steps can be recorded.  On a CPU
    nothing is recorded: the same operations are called one by one.

    Args:
        module: the model; it is copied.
        training: how clients train.
        x: `(n, ...)` inputs, of which shape and type are taken.
        y: `(n, ...)` targets, likewise.
        width: rows of a batch.
        corrected: whether lanes have offsets.
    """

    def __init__(
        self,
        module: nn.Module,
        training: LocalTraining,
        x: torch.Tensor,
        y: torch.Tensor,
        width: int,
        corrected: bool,
    ) -> None:
        self._module, self._training, self._width = deepcopy(module).train(), training, width
        layout, device = Layout.of(module), x.device
        self._flat = torch.zeros(1, layout.size, device=device)
        self._base = torch.zeros_like(self._flat) if training.proximal else self._flat
        self._offset = torch.zeros_like(self._flat) if corrected else None
        for name, view in layout.views(self._flat[0]).items():
            self._module.get_parameter(name).data = view
        self._parameters = trained(self._module)
        offset = None if self._offset is None else [self._offset]
        self._optimizer = LaneOptimizer(training, [self._flat], [self._base], offset)
        batches = BLOCK_BYTES // (width * x[:1].numel() * x.element_size())
        self._room = max(batches // STEPS, 1) * STEPS
        self._x = x.new_zeros(self._room, width, *x.shape[1:])
        self._y = y.new_zeros(self._room, width, *y.shape[1:])
        self._numbers = torch.zeros(self._room, width + 2, device=device)
        """Of each step the weights of its rows, their number without fillers and the rate."""
        self._following = torch.arange(STEPS, device=device)
        self._at = torch.zeros(1, dtype=torch.int64, device=device)
        self._made = torch.zeros(1, dtype=torch.float64, device=device)
        self._sums = torch.zeros(2, dtype=torch.float64, device=device)
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._recordings: dict[int, Callable[[], None]] = {}
        self.wait_for_others()  # who fill this memory

    def wait_for_others(self) -> None:
        """Begin after everything that was asked of the device so far."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))

    def let_others_wait(self) -> None:
        """Let everything that is asked of the device from now on begin after this seat is done."""
        if self._stream is not None:
            torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)

    def get_ready(self, steps: int) -> None:
        """Record what it takes to make so many steps, as far as it is not recorded."""
        with self._here():
            for count in set(_runs(steps)) - set(self._recordings):
                self._recordings[count] = self._record(count)

    def train(
        self, lane: Lane, x: torch.Tensor, y: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Train a lane; return its model `(p,)` and its sums `(2,)` of losses and their squares.

        Nothing is waited for: they are right once the stream is done.

        Args:
            lane: whose batches have at most `width` rows.
            x: `(n, ...)` inputs that its rows index.
            y: `(n, ...)` targets.
        """
        self.get_ready(lane.segment.steps)
        with self._here():
            self._sit_down(lane)
            for first, last in self._load(lane, x, y):
                self._at.zero_()
                for count in _runs(last - first):
                    self._recordings[count]()
            return self._flat[0].clone(), self._sums.clone()

    def _sit_down(self, lane: Lane) -> None:
        self._flat.copy_(lane.start)
        if self._training.proximal:
            self._base.copy_(lane.base)
        if self._offset is not None:
            assert lane.offset is not None
            self._offset.copy_(lane.offset)
        self._optimizer.forget()
        self._sums.zero_()
        self._made.zero_()

    def _load(self, lane: Lane, x: torch.Tensor, y: torch.Tensor) -> Iterator[tuple[int, int]]:
        """Gather the lane's batches, as many at a time as there is room for; yield which."""
        segment, how = lane.segment, self._training.augmentation
        augmenter = None if how is None else Augmenter(how, segment)
        taken, filler = filled_up(segment.sizes, self._width)
        with np.errstate(over="ignore"):  # an infinite rate, of clients that diverge
            columns = np.where(filler, 0.0, segment.normalised[taken]), segment.sizes, segment.rates
            numbers = self._sent(np.column_stack(columns).astype(np.float32))
        rows = self._sent(segment.rows[taken])
        starts = np.append(0, np.cumsum(segment.sizes))
        for first in range(0, segment.steps, self._room):
            last = min(first + self._room, segment.steps)
            wanted, block = rows[first:last].flatten(), slice(0, last - first)
            torch.index_select(y, 0, wanted, out=self._y[block].flatten(0, 1))
            inputs = x
            if augmenter is not None:  # each row as often as it is drawn, but no fillers
                begin, end = int(starts[first]), int(starts[last])
                inputs = augmenter(x.index_select(0, self._sent(segment.rows[begin:end])), begin)
                wanted = self._sent(taken[first:last].ravel() - begin)
            torch.index_select(inputs, 0, wanted, out=self._x[block].flatten(0, 1))
            self._numbers[block].copy_(numbers[first:last])
            yield first, last

    def _sent(self, array: NDArray[Any]) -> torch.Tensor:
        return on_device(array, self._flat.device)

    def _here(self) -> AbstractContextManager[object]:
        """Let operations be those of this seat's stream."""
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _record(self, count: int) -> Callable[[], None]:
        """Return what makes `count` steps."""
        if self._stream is None:
            return partial(self._step, count)
        for _ in range(0 if self._recordings else WARM_UP):
            self._at.zero_()
            self._step(1)
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        try:
            self._step(count)
        finally:
            graph.capture_end()
        return graph.replay

    def _step(self, count: int) -> None:
        """Make the next `count` steps of the block."""
        following = self._following[:count]
        places, made = self._at + following, self._made + 1 + following
        x, y, numbers = (part.index_select(0, places) for part in (self._x, self._y, self._numbers))
        weights, sizes, rates = torch.split_with_sizes(numbers, [self._width, 1, 1], 1)
        losses = []
        for step in range(count):
            with torch.enable_grad():
                rows = self._training.loss.checked_rows(self._module(x[step]), y[step])
                loss = rows @ weights[step]
            parts = torch.autograd.grad(loss, self._parameters, materialize_grads=True)
            gradient = torch.cat([part.flatten() for part in parts]).unsqueeze(0)
            self._optimizer.step([gradient], rates[step : step + 1], made[step])
            losses.append(rows.detach())
        each = torch.stack(losses).double()
        weighted = each * weights * sizes
        self._sums += torch.stack([weighted.sum(), (weighted * each).sum()])
        self._at += count
        self._made += count


def _runs(steps: int) -> Iterator[int]:
    """Return how many steps each recording has that is played to make so many."""
    return chain(repeat(STEPS, steps // STEPS), repeat(1, steps % STEPS))
