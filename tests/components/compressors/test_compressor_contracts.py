"""Every registered compressor goes through the contract, which catches faulty ones."""

import numpy as np
import pytest

from simfl.components.compressors.base import compressors
from simfl.components.compressors.none import NoCompression
from simfl.testing.compressors import CompressorContract
from simfl.testing.contract import suites

globals().update(suites(CompressorContract, compressors))


class Double(NoCompression):
    def compress(self, update, rng):
        return update.astype(np.float64)


class Noisy(NoCompression):
    def compress(self, update, rng):
        return (update + rng.normal(size=len(update))).astype(np.float32)


class Doubles(NoCompression):
    def compress(self, update, rng):
        return 2 * update


class InPlace(NoCompression):
    def compress(self, update, rng):
        update /= 2
        return update


class DividesByTheLargest(NoCompression):
    def compress(self, update, rng):
        largest = np.abs(update).max()
        with np.errstate(invalid="ignore"):
            return update / largest * largest


class DrawsForItself(NoCompression):
    def compress(self, update, rng):
        return update * np.float32(np.random.default_rng().random())


class HalfBytes(NoCompression):
    def size(self, parameters):
        return parameters / 2


class SmallerAndSmaller(NoCompression):
    def size(self, parameters):
        return 10**7 - parameters


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Double, "test_it_stays_close"),
        (Noisy, "test_it_stays_close"),
        (Doubles, "test_it_stays_close"),
        (InPlace, "test_it_stays_close"),
        (DividesByTheLargest, "test_nothing_stays_nothing"),
        (DrawsForItself, "test_same_numbers_same_code"),
        (HalfBytes, "test_size"),
        (SmallerAndSmaller, "test_size"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(CompressorContract, test, fault, sound=NoCompression)
