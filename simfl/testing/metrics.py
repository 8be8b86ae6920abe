"""The contract of every metric, as a test suite to inherit: see `simfl.testing.contract`."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import given
from numpy.typing import NDArray

from simfl.components.metrics.base import BETTER, QualityMetric
from simfl.core.types import Floats
from simfl.testing.circumstances import circumstances
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract

SAMPLES, CLASSES = 40, 6


class MetricContract(ComponentContract):
    """What holds for every metric; inherit and set `create`."""

    create: Callable[..., QualityMetric]

    def judged(self, seed: int) -> Iterator[tuple[Floats, NDArray[Any]]]:
        """Yield outputs and targets of every sort that the metric takes."""
        chance = np.random.default_rng(seed)
        for sort in self.create().takes:
            outputs = chance.normal(size=(SAMPLES, CLASSES))
            if sort == "classes":
                yield outputs, chance.integers(0, CLASSES, SAMPLES)
                yield outputs[:, :1], chance.integers(0, 2, SAMPLES)  # a logit of two classes
            else:
                numbers = chance.normal(size=(SAMPLES, CLASSES))
                yield outputs, numbers if sort == "numbers" else (numbers > 0).astype(np.float32)

    @RELAXED
    @given(seed=SEEDS)
    def test_one_finite_number(self, seed: int) -> None:
        """Of enough samples; nothing that it is given is changed."""
        for outputs, targets in self.judged(seed):
            before = outputs.copy(), targets.copy()
            number = self.create().of(outputs, targets)
            assert isinstance(number, float), type(number)
            assert math.isfinite(number), number
            assert np.array_equal(outputs, before[0])
            assert np.array_equal(targets, before[1])

    @RELAXED
    @given(seed=SEEDS)
    def test_the_order_of_samples_is_no_matter(self, seed: int) -> None:
        """But for the last bits of a sum; nor is what it was asked before."""
        metric, order = self.create(), np.random.default_rng(seed).permutation(SAMPLES)
        for outputs, targets in self.judged(seed):
            number = metric.of(outputs, targets)
            assert math.isclose(metric.of(outputs[order], targets[order]), number)

    def test_its_column_has_a_name(self) -> None:
        """A word that no other column of `rounds.csv` has, see `evaluation.metrics`."""
        assert self.create().label.isidentifier()

    def test_it_says_which_of_two_is_better_or_nothing(self) -> None:
        """Nothing can wait for a value of one that does not."""
        assert self.create().better in (*BETTER, "")

    def test_it_objects_to_targets_of_other_sorts(self) -> None:
        """And to nothing else where there are right answers."""
        metric = self.create()
        for sort in ("classes", "labels", "numbers"):
            objections = list(metric.objections(circumstances(targets=sort)))
            assert bool(objections) == (sort not in metric.takes), objections
