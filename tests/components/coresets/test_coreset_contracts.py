"""Every registered coreset goes through the contract, which catches faulty ones."""

import numpy as np
import pytest

from simfl.components.coresets.base import coresets
from simfl.components.coresets.k_medoids import KMedoids
from simfl.components.coresets.random import Random
from simfl.testing.contract import suites
from simfl.testing.coresets import CoresetContract

globals().update(suites(CoresetContract, coresets))


class TestAllClassesTogether(CoresetContract):
    create = staticmethod(lambda: KMedoids(per_class=False))


class Unsorted(Random):
    def choose(self, features, labels, size, rng):
        rows, weights = super().choose(features, labels, size, rng)
        return rows[::-1], weights


class Unweighted(Random):
    def choose(self, features, labels, size, rng):
        rows, _ = super().choose(features, labels, size, rng)
        return rows, np.ones(len(rows))


class Repeats(Random):
    def choose(self, features, labels, size, rng):
        m = len(labels)
        b = min(size, m)
        return np.sort(rng.integers(0, m, b)), np.full(b, m / b)


class TooMany(Random):
    def choose(self, features, labels, size, rng):
        return super().choose(features, labels, size + 1, rng)


class Normalises(Random):
    def choose(self, features, labels, size, rng):
        features -= features.mean(axis=0)
        return super().choose(features, labels, size, rng)


class Distinct(Random):
    """Chooses distinct features only."""

    def choose(self, features, labels, size, rng):
        rows = np.sort(np.unique(features, axis=0, return_index=True)[1])[:size]
        return rows, np.full(len(rows), len(labels) / len(rows))


class DrawsForItself(Random):
    def choose(self, features, labels, size, rng):
        return super().choose(features, labels, size, np.random.default_rng())


class WantsTheImpossible(Random):
    def uses(self, convex):
        return "wishes"


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Unsorted, "test_rows_and_weights"),
        (Unweighted, "test_rows_and_weights"),
        (Repeats, "test_rows_and_weights"),
        (TooMany, "test_rows_and_weights"),
        (Normalises, "test_rows_and_weights"),
        (Distinct, "test_all_samples_alike"),
        (DrawsForItself, "test_same_numbers_same_coreset"),
        (WantsTheImpossible, "test_it_says_which_features_it_wants"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(CoresetContract, test, fault, sound=Random)
