"""Targets as text: accuracies, and values of anything else that evaluations measure."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl.core.target import MetricTarget, format_target, metric_of, parse_target
from simfl.errors import InputError

NAMED = st.builds(
    MetricTarget,
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9),
    st.sampled_from(["rmse", "top_5", "loss"]),
)


@given(NAMED | st.floats(0.0, 1.0, exclude_min=True))
def test_text_gives_back_the_target(target: float) -> None:
    again = parse_target(format_target(target))
    assert again == target
    assert metric_of(again) == metric_of(target)


@given(NAMED)
def test_a_copy_is_as_good_and_an_accuracy_is_another(target: MetricTarget) -> None:
    for copy in (pickle.loads(pickle.dumps(target)), deepcopy(target), parse_target(target)):
        assert copy == target
        assert hash(copy) == hash(target)
        assert metric_of(copy) == target.metric
    assert target not in {float(target): "an accuracy"}
    assert target != float(target)
    assert target != MetricTarget(float(target), "another")


@pytest.mark.parametrize("text", ["60%", "accuracy 60%", "accuracy 0.6", 0.6, np.float32(0.6)])
def test_an_accuracy_can_be_written_in_any_of_these_ways(text: object) -> None:
    assert parse_target(text) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rmse": 0.5}, "such as '80%' or 'rmse 0.5'; write it `rmse 0.5`"),
        ("loss <= 0.5", "write it `loss 0.5`: whether less or more is better is known"),
        ("loss:0.5", "write it `loss 0.5`"),
        ("auc 90%", "expected auc and a number such as 0.5, got 'auc 90%'"),
        ("rmse", "expected a target such as '80%' or 'rmse 0.5', got 'rmse'"),
        ("rmse much", "expected a target such as '80%' or 'rmse 0.5', got 'rmse much'"),
        ("accuracy 70", "did you mean '70%'"),
        (["rmse 0.5"], "expected a target such as '80%' or 'rmse 0.5', got ['rmse 0.5']"),
        (70, "did you mean '70%'"),
        ("accuracy 0%", "must be above 0, but got 0%"),
        (0.0, "must be above 0, but got 0.0"),
    ],
)
def test_what_is_none_is_told(value: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_target(value)
    assert message in str(error.value)
