"""CMFL: exact cases (docs/algorithms.md, A.11) and both variants' decisions."""

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.filters.base import filters
from simfl.components.filters.cmfl import Cmfl, relevance

U = np.array([1.0, -1.0, 2.0, 0.0, 3.0])
G = np.array([2.0, 1.0, 1.0, 0.0, -1.0])


def test_relevance_counts_agreeing_signs_and_zero_agrees_with_zero() -> None:
    assert relevance(U, G) == pytest.approx(0.6)
    assert relevance(U, U) == 1.0
    assert relevance(U[U != 0], -U[U != 0]) == 0.0
    assert relevance(np.array([np.nan, 1.0]), np.array([1.0, 1.0])) == 0.5


def test_the_threshold_decides() -> None:
    assert not Cmfl(threshold=0.7).keep(U, G, round_=2)
    assert Cmfl(threshold=0.5).keep(U, G, round_=2)
    assert Cmfl(threshold=0.6).keep(U, G, round_=2)


def test_everybody_uploads_in_the_first_round() -> None:
    assert Cmfl().keep(U, None, round_=1)


def test_defaults_differ_by_variant() -> None:
    assert Cmfl().threshold_at(9) == 0.8
    assert Cmfl(variant="current_mean").threshold_at(9) == 0.7
    assert Cmfl(decay="sqrt").threshold_at(4) == pytest.approx(0.4)
    assert Cmfl().stage == "client"
    assert Cmfl(variant="current_mean").stage == "server"


def test_one_participant_agrees_with_its_own_mean() -> None:
    assert Cmfl(variant="current_mean", threshold=1).choose([U], None, 1) == [0]


def test_current_mean_ignores_the_last_global_update() -> None:
    updates = [np.array([1.0, 1.0]), np.array([1.0, 1.0]), np.array([-1.0, -1.0])]
    assert Cmfl(variant="current_mean").choose(updates, -updates[0], 5) == [0, 1]


def test_current_mean_falls_back_to_the_most_agreeing_update() -> None:
    updates = [
        np.array([1.0, -5.0, -1.0, 1.0]),  # agrees in 1 of 4 signs with the mean (1, 1, 2, -2) / 3
        np.array([1.0, 2.0, -2.0, -4.0]),  # in 3
        np.array([-1.0, 4.0, 5.0, 1.0]),  # in 2
    ]
    assert Cmfl(variant="current_mean", threshold=1).choose(updates, None, 2) == [1]
    assert Cmfl(variant="current_mean", threshold=0.5).choose(updates, None, 2) == [1, 2]
    tied = [np.array([3.0, -1.0]), np.array([-1.0, 3.0])]
    assert Cmfl(variant="current_mean", threshold=1).choose(tied, None, 2) == [0]


def test_published_with_nobody_relevant_keeps_nobody() -> None:
    assert Cmfl().choose([-G, -G], G, 3) == []
    assert Cmfl(variant="current_mean").choose([], None, 3) == []


def test_no_filter_keeps_everything() -> None:
    nothing = filters.get("none")()
    assert nothing.choose([U, -U], G, 7) == [0, 1]
    assert nothing.stage == "none"


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        Cmfl(threshold=1.5)
