import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.core.seeds import generator
from simfl.core.work import Plan, Purpose, WorkOrder
from simfl.training.segments import coreset_segment
from tests.training.learning_stubs import full_segment


def order(plan, seed=5, round_=1):
    return WorkOrder(3, 0, round_, 0, plan, seed)


@settings(max_examples=60)
@given(
    n=st.integers(0, 40),
    batch=st.integers(1, 12),
    epochs=st.integers(0, 4),
    steps=st.none() | st.integers(0, 30),
    stop=st.none() | st.integers(0, 12),
)
def test_batches_are_what_the_plan_says(n, batch, epochs, steps, stop):
    plan = Plan(full_epochs=epochs, steps=steps, stop_after=stop)
    rows = np.arange(100, 100 + n)
    segment = full_segment(order(plan), rows, LocalTraining(batch, Sgd(lr=0.1)))
    assert segment.steps == plan.n_steps(n, batch)
    assert len(segment.rows) == segment.sizes.sum()
    assert len(segment.rates) == segment.steps
    assert segment.normalised == pytest.approx(np.repeat(1 / segment.sizes, segment.sizes))
    for first in range(0, len(segment.rows) - n + 1, max(n, 1)):  # each pass sees each row once
        assert sorted(segment.rows[first : first + n]) == rows.tolist()
        if not n:
            break


def test_passes_are_reshuffled_and_follow_from_the_seed():
    rows, training = np.arange(50), LocalTraining(8, Sgd(lr=0.1))
    segment = full_segment(order(Plan(full_epochs=2)), rows, training)
    assert not np.array_equal(segment.rows[:50], segment.rows[50:])
    assert not np.array_equal(segment.rows[:50], rows)
    again = full_segment(order(Plan(full_epochs=3)), rows, training)
    assert np.array_equal(segment.rows, again.rows[:100])
    other = full_segment(order(Plan(full_epochs=2), seed=6), rows, training)
    assert not np.array_equal(segment.rows, other.rows)
    huge = full_segment(order(Plan(full_epochs=2), seed=2**64 - 1), rows, training)
    assert len(huge.rows) == 100


def test_unshuffled_passes_are_the_rows_as_they_lie_but_for_coresets():
    rows, training = np.array([7, 3, 9, 1]), LocalTraining(3, Sgd(lr=0.1), shuffle=False)
    for seed in (5, 6):
        segment = full_segment(order(Plan(full_epochs=2), seed=seed), rows, training)
        assert segment.rows.tolist() == [7, 3, 9, 1, 7, 3, 9, 1]
        assert segment.sizes.tolist() == [3, 1, 3, 1]
    plan, many = Plan(coreset_epochs=2, coreset_size=50), np.arange(50)
    drawn = coreset_segment(order(plan), many, np.ones(50), training, done=0)
    assert not np.array_equal(drawn.rows[:50], drawn.rows[50:])


def test_coreset_batches_carry_their_weights():
    plan = Plan(full_epochs=2, coreset_epochs=3, coreset_size=5)
    rows, weights = np.array([4, 9, 11, 30, 31]), np.array([1.0, 2, 3, 4, 5])
    training = LocalTraining(2, Sgd(lr=1.0), Exponential(decay=0.5, per="epoch"), lr_epochs=5)
    segment = coreset_segment(order(plan), rows, weights, training, done=50)
    assert segment.sizes.tolist() == [2, 2, 1] * 3
    assert segment.weights is not None
    assert dict(zip(segment.rows, segment.weights, strict=True)) == dict(
        zip(rows, weights, strict=True)
    )
    sums = np.add.reduceat(segment.normalised, np.cumsum(segment.sizes) - segment.sizes)
    assert sums == pytest.approx(np.ones(9))
    assert segment.rates == pytest.approx(np.repeat([0.5**2, 0.5**3, 0.5**4], 3))
    stopped = order(Plan(full_epochs=2, coreset_epochs=3, coreset_size=5, stop_after=54))
    assert coreset_segment(stopped, rows, weights, training, done=50).steps == 4


def test_rates_follow_rounds_and_epochs():
    training = LocalTraining(8, Sgd(lr=1.0), Exponential(decay=0.9, per="epoch"), lr_epochs=2)
    segment = full_segment(order(Plan(full_epochs=2), round_=3), np.arange(10), training)
    assert segment.rates == pytest.approx([0.9**4, 0.9**4, 0.9**5, 0.9**5])
    for round_, length in [(4, 2), (3, 1), (3, 2), (4, 2)]:  # kept for others who ask for the same
        again = full_segment(order(Plan(full_epochs=length), round_=round_), np.arange(8), training)
        expected = [0.9 ** (2 * (round_ - 1) + epoch) for epoch in range(length)]
        assert again.rates == pytest.approx(expected)


def test_streams_differ_by_purpose():
    draws = {float(generator(7, purpose).random()) for purpose in Purpose}
    assert len(draws) == len(Purpose)
    assert generator(7, Purpose.DROPOUT).random() == generator(7, Purpose.DROPOUT).random()
