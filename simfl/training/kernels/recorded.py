"""Any module on a GPU: one client's step, recorded once and replayed on several streams.

Started one by one, the operations of a small model's step take the processor longer than the GPU
needs to run them; a recording (a CUDA graph) starts all of them at once.  Clients train side by
side, each at a seat of its own.  No operation ever sees two clients, so a lane's bits can't depend
on its company.
"""

from collections.abc import Sequence

import torch
from torch import nn
from typing_extensions import override

from simfl.components.local_training import LocalTraining
from simfl.training.kernels.base import Kernel, Lane, Progress
from simfl.training.kernels.loop import LoopKernel
from simfl.training.kernels.seat import Seat
from simfl.training.kernels.stages import has_hooks
from simfl.training.kernels.steps import batch_width
from simfl.training.tokens import example_input

SEATS = 16
"""Clients that train side by side, at most."""
GPU_SHARE = 4
"""For another seat this many times as much must be free as the last one took."""
WIDTHS = 4
"""Widths of batches whose seats are kept."""


class RecordedKernel(Kernel):
    """Modules that `can_record` allows.

    Args:
        module: the model; it is copied.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._device = next(module.parameters()).device
        self._training: LocalTraining | None = None
        self._seats: dict[tuple[int, bool], list[Seat]] = {}
        self._seat_bytes = 0
        self._loop: LoopKernel | None = None

    @override
    def run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        if self._loop is not None:
            return self._loop.run(lanes, x, y, training)
        if training is not self._training:
            self._seats, self._training = {}, training
        try:
            return self._run(lanes, x, y, training)
        except RuntimeError as error:
            self._clear()
            if "captur" not in str(error).lower():
                raise
        # The loss looks at numbers on the processor: it can't be recorded.
        self._loop = LoopKernel(self._module)
        return self._loop.run(lanes, x, y, training)

    def _run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        progress = Progress.none(lanes)
        widths = [
            batch_width(lane.segment, training.batch_size) if lane.segment.steps else 0
            for lane in lanes
        ]
        for width in sorted({width for width in widths if width}):
            places = [place for place, own in enumerate(widths) if own == width]
            trained = self._train([lanes[place] for place in places], x, y, width)
            for place, (params, sums) in zip(places, trained, strict=True):
                progress.params[place] = params
                progress.losses[place], progress.squares[place] = sums.tolist()
        return progress

    def _train(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, width: int
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the model `(p,)` and the sums `(2,)` of each lane."""
        assert self._training is not None
        key = width, lanes[0].offset is not None
        if key not in self._seats and len(self._seats) >= WIDTHS:
            del self._seats[next(iter(self._seats))]
        seats = self._seats.setdefault(key, [])
        for seat in seats:
            seat.wait_for_others()
        trained = []
        for place, lane in enumerate(lanes):
            if place == len(seats) < SEATS and (not seats or self._has_room()):
                free = free_bytes(self._device)
                seats.append(Seat(self._module, self._training, x, y, *key))
                seats[-1].get_ready(lane.segment.steps)
                self._seat_bytes = free - free_bytes(self._device)
            trained.append(seats[place % len(seats)].train(lane, x, y))
        for seat in seats:
            seat.let_others_wait()
        sums = torch.stack([sums for _, sums in trained]).cpu()
        return [(params, own) for (params, _), own in zip(trained, sums, strict=True)]

    def _has_room(self) -> bool:
        """Whether there is room for one more seat like the last one."""
        return free_bytes(self._device) > GPU_SHARE * self._seat_bytes

    def _clear(self) -> None:
        """Give all seats back, once nobody works at them."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self._seats = {}


def free_bytes(device: torch.device) -> int:
    """Return how much of a GPU's memory is free (of a CPU: no matter)."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else 1


def can_record(module: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether steps of `module`, on whatever batch, are the same operations on other numbers.

    Neither do its rows look at one another (a batch is filled up), nor does it draw numbers, nor
    does it keep account of what it did.  Tried on small batches.
    """
    if has_hooks(module):
        return False
    generator = torch.Generator().manual_seed(0)
    x = example_input(module, shape, 4)
    if x.is_floating_point():
        x = torch.randn(x.shape, generator=generator).to(x.device)
    other = x.clone()
    other[1:] = other[1:].flip(0) * 2
    module.train()
    before = _account(module)
    try:
        with torch.no_grad():
            one, again, two = (module(inputs.clone()) for inputs in (x, x, other))
    except (RuntimeError, ValueError):
        return False
    if not torch.equal(one, again) or _account(module) != before:
        return False
    return bool(torch.allclose(one[0], two[0], rtol=1e-4, atol=1e-5))


def _account(module: nn.Module) -> list[tuple[str, str, object]]:
    """Return the plain numbers and words that `module` and its parts keep."""
    return [
        (name, key, value)
        for name, part in module.named_modules()
        for key, value in vars(part).items()
        if isinstance(value, bool | int | float | str)
    ]
