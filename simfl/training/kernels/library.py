"""The compiled kernel's library, and what its functions take (native/network.h)."""

import ctypes
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simfl.components.local_training import LocalTraining
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.sgd import Sgd
from simfl.training.compilable import MOST_AFTER, MOST_LAYERS, OPTIMIZERS
from simfl.training.kernels.network import NetworkSpec
from simfl.training.kernels.stages import ELEMENTWISE, dropouts
from simfl.training.native import library_file

_BUILD = "run `pip install -e .` in its folder"
_INT, _FLOAT, _POINTER = ctypes.c_int, ctypes.c_float, ctypes.c_void_p


def _fields(names: str, kind: type) -> list[tuple[str, type]]:
    return [(name, kind) for name in names.split()]


class Convolution(ctypes.Structure):
    """See network.h."""

    _fields_ = _fields("channels height width outputs kernel padding relu pool bias", _INT)


class Linear(ctypes.Structure):
    """See network.h."""

    _fields_ = [
        *_fields("inputs outputs bias", _INT),
        ("after", _INT * MOST_AFTER),
        ("dropouts", _INT),
    ]


class Network(ctypes.Structure):
    """See network.h."""

    _fields_ = [
        *_fields("convolutions linears masks", _INT),
        ("convolution", Convolution * MOST_LAYERS),
        ("linear", Linear * MOST_LAYERS),
    ]

    @classmethod
    def of(cls, spec: NetworkSpec) -> "Network":
        """Return `spec` as the library takes it."""
        network = cls(len(spec.convolutions), len(spec.linears), spec.masks)
        for i, c in enumerate(spec.convolutions):
            network.convolution[i] = Convolution(
                c.channels,
                c.height,
                c.width,
                c.outputs,
                c.kernel,
                c.padding,
                c.relu,
                c.pool,
                c.bias is not None,
            )
        for i, layer in enumerate(spec.linears):
            after = [ELEMENTWISE[type(part)] for part in layer.after]
            masks_before = sum(width for width, _ in dropouts(spec.linears[:i]))
            network.linear[i] = Linear(
                layer.inputs,
                layer.outputs,
                layer.bias is not None,
                (_INT * MOST_AFTER)(*after),
                masks_before,
            )
        return network


class Settings(ctypes.Structure):
    """See network.h."""

    _fields_ = [
        *_fields("kind nesterov", _INT),
        *_fields("momentum weight_decay proximal clip beta1 beta2 epsilon smoothing", _FLOAT),
    ]

    @classmethod
    def of(cls, training: LocalTraining) -> "Settings":
        """Return how parameters change, as the library takes it, see `is_compilable`."""
        optimizer, loss = training.optimizer, training.loss
        assert isinstance(loss, CrossEntropy)
        settings = cls(
            kind=OPTIMIZERS[type(optimizer)],
            proximal=training.proximal,
            clip=optimizer.clip or 0.0,
            smoothing=loss.label_smoothing,
        )
        if isinstance(optimizer, Sgd):
            settings.momentum, settings.nesterov = optimizer.momentum, optimizer.nesterov
            settings.weight_decay = optimizer.weight_decay
        elif isinstance(optimizer, Adam):
            settings.beta1, settings.beta2 = optimizer.betas
            settings.epsilon, settings.weight_decay = optimizer.eps, optimizer.weight_decay
        return settings


class Crops(ctypes.Structure):
    """See network.h."""

    _fields_ = [
        *_fields("channels height width padding", _INT),
        *_fields("border down right mirrored", _POINTER),
    ]
    arrays: tuple[NDArray[np.generic], ...]

    @classmethod
    def of(
        cls, shape: Sequence[int], padding: int, arrays: tuple[NDArray[np.generic], ...]
    ) -> "Crops":
        """Return it for pictures of `shape`; it keeps the `arrays` that it points to."""
        crops = cls(*shape, padding, *map(pointer, arrays))
        crops.arrays = arrays
        return crops


class Clients(ctypes.Structure):
    """See network.h."""

    _fields_ = [
        ("count", _INT),
        ("row_size", ctypes.c_long),
        *_fields("crops x labels steps sizes rates rows weights masks", _POINTER),
        *_fields("starts bases offsets results losses squares", _POINTER),
    ]


class Library:
    """The functions of one level."""

    def __init__(self, library: ctypes.CDLL, level: str) -> None:
        self.memory = library[f"simfl_memory_{level}"]
        self.memory.restype = ctypes.c_long
        self.train = library[f"simfl_train_{level}"]
        self.infer = library[f"simfl_infer_{level}"]
        self.judge = library[f"simfl_judge_{level}"]
        self.train.restype = self.infer.restype = self.judge.restype = None


@cache
def library() -> Library:
    """Return the library for this processor; every level computes the same bits.

    Raises:
        ImportError: it is not there, or was built from other sources than these.
    """
    found = ctypes.CDLL(path())
    size = sum(map(ctypes.sizeof, (Network, Settings, Crops, Clients)))
    has_all = hasattr(found, "simfl_judge_any")  # the function that came last
    if not has_all or found.simfl_bytes() != size:
        raise ImportError(f"simfl's compiled kernel is of another version: {_BUILD}")
    return Library(found, levels(found)[0])


def path() -> str:
    """Return where the library is.

    Raises:
        ImportError: simfl was not installed, only its sources are there.
    """
    if (file := library_file()) is not None:
        return str(file)
    raise ImportError(f"simfl's compiled kernel is not built: {_BUILD}")


def levels(found: ctypes.CDLL) -> list[str]:
    """Return the instruction sets that this processor can run, the fastest first."""
    return [*[f"v{level}" for level in (4, 3) if level <= found.simfl_level()], "any"]


def pointer(array: NDArray[np.generic] | None) -> int | None:
    """Return where the numbers of `array`, contiguous, are."""
    return None if array is None else array.ctypes.data


def pointers(addresses: Iterable[int]) -> NDArray[np.uintp]:
    """Return `(n,)` addresses as an array, which C can be given."""
    return np.fromiter(addresses, dtype=np.uintp)
