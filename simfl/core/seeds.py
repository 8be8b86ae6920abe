"""Named, counter-based random streams.

A stream is addressed by *what it is for*, never by how many draws came before it, so adding a
draw, a device or a policy in one place can't shift the numbers seen in another.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray
from typing_extensions import override

Address = str | int

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_GOLDEN, _FACTORS = np.uint64(_STEP), (np.uint64(_FIRST), np.uint64(_SECOND))
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_WORD = 2**64 - 1
_FEW = 8
"""So many numbers take less time one by one than NumPy takes to begin."""


class _Key(ISeedSequence):
    """A key as it is.  ``Philox(key=...)`` asks the system for entropy first, and forgets it."""

    __slots__ = ("_words",)

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    @override
    def generate_state(self, n_words: int, dtype: object = np.uint32) -> NDArray[np.uint64]:
        return self._words


_START = np.zeros(4, dtype=np.uint64)


def generator(seed: int, purpose: int = 0) -> np.random.Generator:
    """Return a fresh generator, the same for the same seed and purpose.

    Args:
        seed: modulo 2^64.
        purpose: below 2^64; those of one seed are independent.
    """
    key = np.array((seed % 2**64, purpose), dtype=np.uint64)
    # NumPy takes any ISeedSequence; its stubs know of one only.
    return np.random.Generator(np.random.Philox(_Key(key), counter=_START))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seeds:
    """The root of all randomness in one run."""

    root: int

    def stream(self, *address: Address) -> np.random.Generator:
        """Return a fresh generator for `address`, e.g. ``("selection", round)``.

        >>> a, b = Seeds(1).stream("selection", 3), Seeds(1).stream("selection", 3)
        >>> bool(a.integers(2**32) == b.integers(2**32))
        True
        """
        return generator(self.number(*address))

    def number(self, *address: Address) -> int:
        """Return a 64-bit seed for `address`, to be stored in a work order."""
        text = str(self.root)
        for part in address:
            text += f"\x1f{type(part).__name__}:{part}"
        return int.from_bytes(sha256(text.encode()).digest()[:8], "little")

    def uniforms(
        self,
        address: tuple[Address, ...],
        ids: NDArray[np.int64],
        counters: NDArray[np.int64] | int,
    ) -> NDArray[np.float64]:
        """Return one uniform number in (0, 1) for each (id, counter) pair under `address`.

        The value depends on nothing but its own address, id and counter (a 64-bit counter-based
        generator: SplitMix64's finaliser over the keyed counter; Steele, Lea & Flood, 2014), so a
        fleet of a million devices draws its next change of state in one call, in any order.

        Args:
            address: what the numbers are for.
            ids: `(n,)` identities, e.g. devices.
            counters: `(n,)` or scalar: the number of the draw, of each identity.
        """
        if ids.ndim == 1 and len(ids) <= _FEW:
            key = _key(self, address).item()
            numbers = [counters] * len(ids) if isinstance(counters, int) else counters.tolist()
            pairs = zip(ids.tolist(), numbers, strict=True)
            return np.array([_uniform(key, id_, number) for id_, number in pairs])
        steps = np.asarray(counters).astype(np.uint64).reshape(np.shape(counters) or 1) * _GOLDEN
        bits = _mix(_mix(ids.astype(np.uint64) + _key(self, address)) + steps)
        bits >>= _SHIFTS[3]
        return bits.astype(np.float64) * 2.0**-53 + 2.0**-54


@lru_cache(maxsize=1024)
def _key(seeds: Seeds, address: tuple[Address, ...]) -> NDArray[np.uint64]:
    """Return `(1,)` the key of an address that is asked about again and again."""
    return np.array([seeds.number(*address)], dtype=np.uint64)


def _uniform(key: int, id_: int, counter: int) -> float:
    """Return the number of one (id, counter) pair."""
    bits = _mixed(_mixed(id_ + key) + counter * _STEP) >> 11
    return bits * 2.0**-53 + 2.0**-54


def _mixed(z: int) -> int:
    """Return what `_mix` makes of one number, of which the lower 64 bits count."""
    z = (z + _STEP) & _WORD
    z = ((z ^ (z >> 30)) * _FIRST) & _WORD
    z = ((z ^ (z >> 27)) * _SECOND) & _WORD
    return z ^ (z >> 31)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + _GOLDEN
    z ^= z >> _SHIFTS[0]
    z *= _FACTORS[0]
    z ^= z >> _SHIFTS[1]
    z *= _FACTORS[1]
    z ^= z >> _SHIFTS[2]
    return z
