"""The contract suite itself: each kind of fault is caught by the test meant for it."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from pydantic import PrivateAttr

from simfl.components.selectors.base import Probe, Reports, Selector, View
from simfl.components.selectors.uniform import Uniform
from simfl.core.types import Ids
from simfl.testing.contract import plain, same
from simfl.testing.selectors import SelectorContract


class Faulty(Selector):
    """Chooses the first `k` available; each subclass does one thing wrong."""

    def select(
        self, view: View, reports: tuple[Reports, ...], k: int, rng: np.random.Generator
    ) -> Ids:
        return view.available[:k]


class TooFew(Faulty):
    def select(self, view: View, *rest: Any) -> Ids:
        return view.available[: rest[1] - 1]


class Twice(Faulty):
    def select(self, view: View, *rest: Any) -> Ids:
        return view.available[np.zeros(min(rest[1], len(view.available)), dtype=np.int64)]


class Absent(Faulty):
    def select(self, view: View, *rest: Any) -> Ids:
        return np.arange(min(rest[1], view.clients))


class NeedsLosses(Faulty):
    def probe(self, view: View, reports: tuple[Reports, ...], rng: Any) -> Probe | None:
        return None if reports or not len(view.available) else Probe("loss", view.available)

    def select(self, view: View, reports: Any, k: int, rng: Any) -> Ids:
        if reports and not np.isfinite(reports[0].values).all():
            raise ValueError("a loss is not finite")
        return view.available[:k]


class Forgets(Faulty):
    _turn: int = PrivateAttr(default=0)

    def select(self, view: View, *rest: Any) -> Ids:
        self._turn += 1
        return np.sort(np.roll(view.available, self._turn)[: rest[1]])

    def state_dict(self) -> dict[str, Any]:
        return {}


class ChangesTheStateItGave(Faulty):
    _seen: np.ndarray = PrivateAttr(default_factory=lambda: np.zeros(99))

    def select(self, view: View, *rest: Any) -> Ids:
        self._seen[view.round] += 1
        return view.available[: rest[1]]


class DrawsForItself(Faulty):
    def select(self, view: View, *rest: Any) -> Ids:
        k = min(rest[1], len(view.available))
        return np.random.default_rng().choice(view.available, k, replace=False)


class NeverStopsAsking(Faulty):
    def probe(self, view: View, reports: tuple[Reports, ...], rng: Any) -> Probe | None:
        return Probe("loss", view.available)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (TooFew, "test_answers_without_content"),
        (Twice, "test_answers_without_content"),
        (Absent, "test_nobody_available"),
        (Absent, "test_clients_with_no_or_one_sample"),
        (NeedsLosses, "test_losses_that_are_not_finite"),
        (NeedsLosses, "test_answers_without_content"),
        (Forgets, "test_state_survives_a_round_trip"),
        (ChangesTheStateItGave, "test_state_survives_a_round_trip"),
        (DrawsForItself, "test_same_numbers_same_choice"),
        (Faulty, "test_renaming_the_clients_renames_the_chosen"),
        (NeverStopsAsking, "test_same_numbers_same_choice"),
    ],
)
def test_the_contract_catches(fault: type[Selector], test: str) -> None:
    suite = type("Suite", (SelectorContract,), {"create": fault})()
    with pytest.raises((AssertionError, ValueError, ExceptionGroup)):
        getattr(suite, test)()


def test_one_line_is_enough_for_a_good_selector() -> None:
    suite = type("Suite", (SelectorContract,), {"create": Uniform})()
    for name in dir(suite):
        if name.startswith("test_"):
            getattr(suite, name)()


def test_a_state_that_would_not_be_restored_as_it_was_is_not_plain() -> None:
    assert plain({"a": [np.arange(3), (1, 2.0, True)], 4: None, "c": {np.int64(1): np.float32(2)}})
    for value in (Counter("abc"), np.array(["a"]), np.array([None]), {1, 2}, range(3)):
        assert not plain({"a": [value]})


def test_plain_state_and_equal_state_are_recognised() -> None:
    assert plain({"a": [1, None, "x", np.zeros(2)]})
    assert not plain({"a": object()})
    assert same({"a": np.array([1, np.nan])}, {"a": np.array([1, np.nan])})
    assert same(float("nan"), float("nan"))
    assert not same([1, 2], [1])
    assert not same({"a": 1}, {"b": 1})
