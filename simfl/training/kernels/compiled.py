"""Convolutions and fully connected layers on a CPU: one client after the other, compiled.

Rows are read where they lie, models are small enough to stay in the cache, and nothing is called
between two steps.  Every sum is made term after term, so the bits depend neither on a lane's
company nor on the processor (native/vectors.h).
"""

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from typing_extensions import override

from simfl.components.local_training import LocalTraining
from simfl.core.seeds import generator
from simfl.core.types import Floats, Ids
from simfl.errors import InputError
from simfl.training.augment import Augmenter
from simfl.training.flat import Layout
from simfl.training.kernels.base import Kernel, Lane, Progress
from simfl.training.kernels.library import (
    Clients,
    Crops,
    Network,
    Settings,
    library,
    pointer,
    pointers,
)
from simfl.training.kernels.network import NetworkSpec, network_of
from simfl.training.kernels.stages import dropouts, make_factors
from simfl.training.segments import Segment

BLOCK_BYTES = 64 * 2**20
"""Dropout masks that are there at once, at most."""
SOONER = 5
"""So many labels side by side are looked at in less time than one of a certain row."""
INFERENCE_BATCH = 48
"""Rows of a forward pass without training; how many changes no bit."""


class CompiledKernel(Kernel):
    """What `network_of` understands.

    Args:
        spec: the network.
        layout: of its flat vector.
    """

    def __init__(self, spec: NetworkSpec, layout: Layout) -> None:
        self.spec, self._size = spec, layout.size
        self._network = Network.of(spec)
        self._index = spec.index(layout).astype(np.int32)
        self._dropouts = dropouts(spec.linears)
        self._memory: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._batch = 0

    @override
    def run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        progress = Progress.none(lanes)
        busy = [index for index, lane in enumerate(lanes) if lane.segment.steps]
        if not busy:
            return progress
        inputs, labels = x.to(torch.float32).contiguous(), y.to(torch.int64).contiguous()
        self._make_room(int(np.concatenate([lanes[i].segment.sizes for i in busy]).max()))
        for some in self._blocks(busy, lanes):
            chosen = [lanes[index] for index in some]
            params, losses, squares = self._train(chosen, inputs, labels, training)
            progress.losses[some], progress.squares[some] = losses, squares
            for index, model in zip(some, params.unbind(), strict=True):
                progress.params[index] = model
        return progress

    def _check(self, labels: Ids, rows: Ids | None = None) -> None:
        """Make sure that no label of `rows` (None: of all) is an address beyond the classes."""
        classes = self.spec.linears[-1].outputs

        def are_sound(some: Ids) -> bool:
            return bool(some.min() >= 0 and some.max() < classes)

        # To look at all is much faster than to look up each row's.
        few = rows is None or len(labels) <= SOONER * len(rows)
        if not (few and are_sound(labels)) and (rows is None or not are_sound(labels[rows])):
            raise InputError(f"labels must be whole numbers from 0 to {classes - 1}")

    def _make_room(self, batch: int) -> None:
        if batch > self._batch:
            self._batch = batch
            size = library().memory(ctypes.byref(self._network), batch) + 64
            self._memory = np.zeros(size, dtype=np.uint8)

    @property
    def _address(self) -> ctypes.c_void_p:
        """Where memory begins, at a multiple of 64 bytes."""
        start = self._memory.ctypes.data
        return ctypes.c_void_p(start + -start % 64)

    def _blocks(self, busy: list[int], lanes: Sequence[Lane]) -> Iterator[list[int]]:
        """Yield lanes whose masks fit together."""
        row_bytes = 4 * self.spec.masks
        sizes = [row_bytes * len(lanes[index].segment.rows) for index in busy]
        block: list[int] = []
        room = BLOCK_BYTES
        for index, size in zip(busy, sizes, strict=True):
            if block and size > room:
                yield block
                block, room = [], BLOCK_BYTES
            block.append(index)
            room -= size
        yield block

    def _train(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> tuple[torch.Tensor, Floats, Floats]:
        """Return parameters `(l, p)`, and `(l,)` sums of losses and of their squares."""
        segments = [lane.segment for lane in lanes]
        rows = np.concatenate([segment.rows for segment in segments])
        self._check(y.numpy(), rows)
        steps = np.array([segment.steps for segment in segments], dtype=np.int32)
        sizes = np.concatenate([segment.sizes for segment in segments])
        with np.errstate(over="ignore"):  # an infinite rate, of clients that diverge
            rates = np.concatenate([segment.rates for segment in segments]).astype(np.float32)
        weights = _weights(segments, sizes)
        masks, crops = self._masks(segments), _crops(segments, x.shape[1:], training)
        params = torch.empty(len(lanes), self._size)
        losses, squares = np.zeros(len(lanes)), np.zeros(len(lanes))
        starts = pointers(_address_of(lane.start) for lane in lanes)
        bases = offsets = None
        if training.proximal:
            bases = pointers(_address_of(lane.base) for lane in lanes)
        if lanes[0].offset is not None:
            offsets = pointers(_address_of(lane.offset) for lane in lanes)
        results = params.data_ptr() + 4 * self._size * np.arange(len(lanes), dtype=np.uintp)
        arrays = (x.numpy(), y.numpy(), steps, sizes, rates, rows, weights, masks)
        more = (starts, bases, offsets, results, losses, squares)
        where = crops and ctypes.addressof(crops)
        clients = Clients(len(lanes), x[0].numel(), where, *map(pointer, (*arrays, *more)))
        library().train(
            ctypes.byref(self._network),
            ctypes.byref(Settings.of(training)),
            self._address,
            self._batch,
            ctypes.c_void_p(pointer(self._index)),
            ctypes.byref(clients),
        )
        return params, losses, squares

    def _masks(self, segments: Sequence[Segment]) -> NDArray[np.float32] | None:
        """Return `(rows, masks)` dropout factors; None: there is no dropout."""
        if not self._dropouts:
            return None
        parts = []
        for segment in segments:
            rng = generator(segment.seed, segment.dropout)
            parts.append(rng.random((len(segment.rows), self.spec.masks), dtype=np.float32))
        numbers = np.concatenate(parts)
        make_factors(numbers, self._dropouts)
        return numbers

    def logits(self, params: torch.Tensor, x: torch.Tensor, rows: Ids) -> torch.Tensor:
        """Return `(m, classes)` in eval mode of rows `(m,)` of inputs `x` under `params` `(p,)`."""
        inputs, flat = x.to(torch.float32).contiguous(), params.contiguous()
        self._make_room(min(max(len(rows), 1), INFERENCE_BATCH))
        found = torch.empty(len(rows), self.spec.linears[-1].outputs)
        library().infer(
            ctypes.byref(self._network),
            self._address,
            self._batch,
            ctypes.c_void_p(pointer(self._index)),
            ctypes.c_void_p(flat.data_ptr()),
            ctypes.c_void_p(inputs.data_ptr()),
            ctypes.c_long(x.shape[1:].numel()),
            ctypes.c_void_p(pointer(np.ascontiguousarray(rows, dtype=np.int64))),
            ctypes.c_long(len(rows)),
            ctypes.c_void_p(found.data_ptr()),
        )
        return found

    def judge(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[Floats, torch.Tensor]:
        """Return the cross-entropy `(n,)` of each row of logits, and whether its answer is right.

        Raises:
            InputError: a label is not that of a class.
        """
        outputs, right = logits.to(torch.float32).contiguous(), labels.to(torch.int64).contiguous()
        if len(outputs):
            self._check(right.numpy())
        losses, hits = np.empty(len(outputs)), torch.empty(len(outputs), dtype=torch.bool)
        library().judge(
            ctypes.c_long(len(outputs)),
            outputs.shape[1],
            ctypes.c_void_p(outputs.data_ptr()),
            ctypes.c_void_p(right.data_ptr()),
            ctypes.c_void_p(pointer(losses)),
            ctypes.c_void_p(hits.data_ptr()),
        )
        return losses, hits


def compiled_kernel(module: nn.Module, shape: tuple[int, ...]) -> CompiledKernel | None:
    """Return what runs `module` on a CPU, given inputs of `shape`; None: nothing here does."""
    if any(parameter.device.type != "cpu" for parameter in module.parameters()):
        return None
    spec = network_of(module, shape)
    return None if spec is None else CompiledKernel(spec, Layout.of(module))


def _address_of(model: torch.Tensor | None) -> int:
    assert model is not None
    assert model.is_contiguous()
    return model.data_ptr()


def _weights(segments: Sequence[Segment], sizes: Ids) -> NDArray[np.float32]:
    """Return `(rows,)` weights in the loss of a row's batch; `sizes` are those of all batches."""
    if all(segment.weights is None for segment in segments):
        return np.repeat((1.0 / sizes).astype(np.float32), sizes)
    return np.concatenate([segment.normalised for segment in segments]).astype(np.float32)


def _crops(
    segments: Sequence[Segment], shape: Sequence[int], training: LocalTraining
) -> Crops | None:
    """Return what becomes of pictures of `shape`, row by row; None: they stay as they are."""
    how = training.augmentation
    if how is None:
        return None
    draws = [Augmenter(how, segment) for segment in segments]
    shifts = np.concatenate([draw.shifts for draw in draws], axis=1)
    flips = np.concatenate([draw.flips for draw in draws])
    return Crops.of(shape, how.crop, (np.full(shape[0], draws[0].border), *shifts, flips))
