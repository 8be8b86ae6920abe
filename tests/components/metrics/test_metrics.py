"""Metrics against their definitions, counted out sample by sample."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from simfl.components.metrics.auc import Auc
from simfl.components.metrics.balanced_accuracy import BalancedAccuracy
from simfl.components.metrics.macro_f1 import MacroF1
from simfl.components.metrics.mean_absolute_error import MeanAbsoluteError
from simfl.components.metrics.top_k import TopK

CLASSES = 4
CLASS = st.integers(0, CLASSES - 1)
ANSWERS = st.lists(st.tuples(CLASS, CLASS), min_size=1, max_size=30)
"""What is said and what is true, sample by sample."""
SCORES = arrays(np.float64, (12, CLASSES), elements=st.integers(-2, 2).map(float))


def judged(answers: list[tuple[int, int]]) -> tuple[Any, Any]:
    said, true = np.array(answers).T
    return np.eye(CLASSES)[said], true


@given(ANSWERS)
def test_macro_f1_is_the_mean_of_precision_and_recall_taken_harmonically(
    answers: list[tuple[int, int]],
) -> None:
    scores = []
    for c in range(CLASSES):
        hits = sum(said == true == c for said, true in answers)
        said, true = (sum(pair[i] == c for pair in answers) for i in (0, 1))
        if said or true:
            precision, recall = hits / max(said, 1), hits / max(true, 1)
            scores.append(2 * precision * recall / ((precision + recall) or 1))
    assert MacroF1().of(*judged(answers)) == pytest.approx(sum(scores) / len(scores))


@given(ANSWERS)
def test_balanced_accuracy_is_the_mean_recall(answers: list[tuple[int, int]]) -> None:
    classes = {true for _, true in answers}
    recalls = [np.mean([said == true for said, true in answers if true == c]) for c in classes]
    assert BalancedAccuracy().of(*judged(answers)) == pytest.approx(np.mean(recalls))


@given(SCORES, st.lists(CLASS, min_size=12, max_size=12))
def test_auc_counts_pairs(scores: Any, true: list[int]) -> None:
    shares, areas = softmax(scores, axis=1), []
    for c in range(CLASSES):
        ins = [s[c] for s, t in zip(shares, true, strict=True) if t == c]
        outs = [s[c] for s, t in zip(shares, true, strict=True) if t != c]
        if ins and outs:
            # Sums of the same shares in another order are the same, but for rounding.
            ties = np.isclose(ins, np.array(outs)[:, None], rtol=1e-12, atol=0)
            areas.append(np.mean(np.where(ties, 0.5, ins > np.array(outs)[:, None])))
    found = Auc().of(scores, np.array(true))
    assert found == pytest.approx(np.mean(areas)) if areas else np.isnan(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1, 50, 1000])
def test_auc_of_a_model_that_is_sure_of_itself(factor: int, dtype: type) -> None:
    """Of two classes shares grow with the difference of outputs, though they round to 0 or 1."""
    rng = np.random.default_rng(3)
    scores, true = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    above = scores[:, 1] - scores[:, 0]
    area = (above[true == 1][:, None] > above[true == 0]).mean()
    assert Auc().of((factor * scores).astype(dtype), true) == pytest.approx(area, rel=1e-12)


@pytest.mark.parametrize("outputs", [[np.inf, 0, 0], [np.nan, 0, 0], [-np.inf] * 3])
def test_auc_is_unknown_if_a_share_is(outputs: list[float]) -> None:
    """It was the mean over classes without those in which the sample's share is not known."""
    scores = np.random.default_rng(3).normal(size=(9, 3))
    true = np.arange(9) % 3
    assert 0 < Auc().of(scores, true) < 1
    scores[4] = outputs
    assert np.isnan(Auc().of(scores, true))


def test_auc_of_a_class_that_a_sample_is_sure_not_to_be_of() -> None:
    scores = np.array([[0.0, 1.0], [-np.inf, 0.0], [2.0, 1.0]])
    assert Auc().of(scores, np.array([0, 1, 0])) == 1


def test_one_logit_is_that_of_the_second_of_two_classes() -> None:
    logits, true = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 1, 0, 1])
    assert Auc().of(logits, true) == 0.75
    assert BalancedAccuracy().of(logits, true) == 0.5
    assert TopK(k=1).of(logits, true) == 0.5
    assert TopK(k=2).of(logits, true) == 1


def test_labels_count_one_by_one() -> None:
    outputs = np.array([[3.0, -1.0], [1.0, 2.0], [-1.0, 1.0]])
    labels = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    assert MacroF1().of(outputs, labels) == pytest.approx((2 / 3 + 1) / 2)
    assert Auc().of(outputs, labels) == 1
    # One that nobody has and that is never said counts as 0, as with scikit-learn.
    rare = np.hstack([outputs, [[-1.0]] * 3]), np.hstack([labels, [[0]] * 3])
    assert MacroF1().of(*rare) == pytest.approx((2 / 3 + 1 + 0) / 3)


@given(SCORES, st.lists(CLASS, min_size=12, max_size=12), st.integers(1, CLASSES))
def test_top_k_by_sorting(scores: Any, true: list[int], k: int) -> None:
    ranks = [sum(row > row[t]) for row, t in zip(scores, true, strict=True)]
    assert TopK(k=k).of(scores, np.array(true)) == np.mean([rank < k for rank in ranks])


def test_a_model_that_has_diverged_is_never_right() -> None:
    nothing = np.full((3, CLASSES), np.nan)
    assert TopK(k=3).of(nothing, np.array([0, 1, 2])) == 0


def test_mean_absolute_error() -> None:
    assert MeanAbsoluteError().of(np.array([[1.0], [4.0]]), np.array([2.0, 2.0])) == 1.5
