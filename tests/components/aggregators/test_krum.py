"""Krum: against a plain reading of the paper, wrong clients, and ties."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simfl.components.aggregators import krum
from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.krum import Krum
from simfl.core.types import Floats, Params
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.errors import InputError
from simfl.testing.circumstances import circumstances


def sent(params: object, client: int, base: float = 0.0, **facts: int) -> Contribution:
    model = np.atleast_1d(np.array(params, dtype=np.float32))
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), model, 0.0, 1, 1 + client)
    return Contribution(result, np.full_like(model, base), **facts)


def kept(models: NDArray[Any], byzantine: int, keep: int = 1) -> Params:
    arrived = [sent(model, client) for client, model in enumerate(models)]
    start = np.zeros(len(models[0]), dtype=np.float32)
    return Krum(byzantine=byzantine, keep=keep).aggregate(start, arrived)


def by_the_paper(models: Floats, byzantine: int, keep: int) -> Floats:
    """Return the mean of the `keep` models of the lowest scores, each computed by itself."""
    scores: list[float] = []
    for i, model in enumerate(models):
        apart = sorted(np.linalg.norm(model - o) ** 2 for j, o in enumerate(models) if j != i)
        scores.append(float(np.sum(apart[: len(models) - byzantine - 2])))
    return np.mean([models[i] for i in np.argsort(scores)[:keep]], axis=0)


@given(data=st.data(), n=st.integers(3, 12), seed=st.integers(0, 10**6))
def test_as_in_the_paper(data: st.DataObject, n: int, seed: int) -> None:
    byzantine = data.draw(st.integers(0, (n - 3) // 2))
    keep = data.draw(st.integers(1, n - byzantine))
    models = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32).astype(float)
    expected = by_the_paper(models, byzantine, keep)
    assert kept(models, byzantine, keep) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_over_several_blocks() -> None:
    models = np.random.default_rng(0).normal(size=(7, 70_001)).astype(np.float32).astype(float)
    found = kept(models, 2, 3)
    assert found == pytest.approx(by_the_paper(models, 2, 3), rel=1e-5, abs=1e-6)


def test_wrong_clients_have_no_say() -> None:
    """Nor do those that agree with each other, as long as they are `byzantine` at most."""
    rng = np.random.default_rng(1)
    honest, wrong = rng.normal(size=(6, 3)), np.full((3, 3), 1e4)
    models = np.concatenate([wrong, honest])
    assert np.abs(kept(models, 3)).max() < 5
    assert np.abs(kept(models, 3, keep=6)).max() < 5
    assert np.abs(kept(models, 0, keep=9)).max() > 1000  # as a mean has it


def test_one_model_is_kept_to_the_bit() -> None:
    models = np.random.default_rng(2).normal(size=(5, 6)).astype(np.float32)
    assert kept(models, 1).tobytes() in {model.tobytes() for model in models}


def test_equal_scores_go_to_the_lowest_id_in_any_order() -> None:
    """0 and 1 are as near to each other as 8 and 9 are."""
    arrived = [sent(value, client) for client, value in enumerate([9.0, 0.0, 8.0, 1.0])]
    start = np.zeros(1, dtype=np.float32)
    for turned in permutations(arrived):
        assert Krum(byzantine=1).aggregate(start, turned).tolist() == [9]


def test_who_was_drawn_twice_is_two() -> None:
    arrived = [sent(0.0, 0), sent(5.0, 1, copies=2), sent(9.0, 2)]
    start = np.zeros(1, dtype=np.float32)
    assert Krum(byzantine=1).aggregate(start, arrived).tolist() == [5]
    assert Krum(byzantine=1, keep=3).aggregate(start, arrived) == pytest.approx([19 / 3])


def test_stale_updates_are_compared_and_added_to_the_present_model() -> None:
    """They moved by 1, 1.5 and -7, from models far apart."""
    stale = [sent(101, 0, 100, staleness=1), sent(-48.5, 1, -50, staleness=2), sent(0, 2, 7)]
    model = np.full(1, 7, dtype=np.float32)
    assert Krum(byzantine=0).aggregate(model, stale).tolist() == [8]
    assert Krum(byzantine=0, keep=2).aggregate(model, stale).tolist() == [8.25]


def test_fewer_models_than_it_needs() -> None:
    assert kept(np.array([[3.0]]), 2).tolist() == [3]
    assert kept(np.array([[3.0], [5.0]]), 2).tolist() == [3]
    assert kept(np.array([[0.0], [5.0], [5.5]]), 2, keep=9) == pytest.approx([3.5])


def test_more_than_the_memory_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def nothing_left(n_bytes: int, what: str) -> None:
        asked.append(n_bytes)
        raise InputError(what)

    monkeypatch.setattr(krum, "require_memory", nothing_left)
    with pytest.raises(InputError, match="'krum' with 4 updates"):
        kept(np.zeros((4, 2)), 0)
    assert asked == [3 * 8 * 4**2]


@pytest.mark.parametrize(
    ("clients", "options", "told"),
    [
        (4, {"byzantine": 1}, "at least 5 clients per round"),
        (5, {"byzantine": 1, "keep": 5}, "`keep` at most 4"),
        (5, {"byzantine": 1, "keep": 4}, None),
    ],
)
def test_rounds_too_small_are_refused(
    clients: int, options: dict[str, int], told: str | None
) -> None:
    objections = list(Krum(**options).objections(circumstances(clients=clients)))
    assert (told in objections[0]) if told else not objections
    assert not list(Krum(**options).objections(circumstances(clients=1, may_be_stale=True)))
