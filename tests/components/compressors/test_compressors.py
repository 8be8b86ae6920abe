"""Compressors: sizes on the wire, unbiasedness, and what error feedback is for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.components.compressors.base import compressors
from simfl.components.filters.base import filters
from simfl.coordinators.update_path import UpdatePath


def update(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("spec", "parameters", "size"),
    [
        ("none", 1000, 4000),
        ("float16", 1000, 2000),
        ({"name": "quantize", "bits": 8}, 1000, 1004),
        ({"name": "quantize", "bits": 4}, 1001, 505),
        ({"name": "top_k", "share": "1%"}, 1000, 80),
        ({"name": "top_k", "share": "1%"}, 5, 8),
    ],
)
def test_bytes_on_the_wire(spec: object, parameters: int, size: int) -> None:
    assert compressors.parse(spec).size(parameters) == size


def test_top_k_sends_the_largest_magnitudes_and_ties_go_to_the_first() -> None:
    sent = compressors.parse({"name": "top_k", "share": "50%"}).compress(
        update(1, -3, 2, 1), np.random.default_rng(0)
    )
    assert sent.tolist() == [0, -3, 2, 0]


def test_float16_clips_rather_than_overflows() -> None:
    got = compressors.parse("float16").compress(update(1e30, 0.5), np.random.default_rng(0))
    assert np.isfinite(got).all()
    assert got[1] == 0.5


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_quantisation_is_unbiased(bits: int) -> None:
    values = np.linspace(-1, 1, 41, dtype=np.float32)
    quantize = compressors.parse({"name": "quantize", "bits": bits})
    rng = np.random.default_rng(0)
    mean = np.mean([quantize.compress(values, rng) for _ in range(4000)], axis=0)
    step = 1 / (2 ** (bits - 1) - 1)
    # The standard error of 4,000 draws of at most step / 2 is step / 126: five of those.
    assert np.abs(mean - values).max() < 5 * step / 126


@settings(max_examples=30)
@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=40), st.sampled_from([4, 8]))
def test_quantisation_errs_by_one_level_at_most(values: list[float], bits: int) -> None:
    exact = update(*values)
    got = compressors.parse({"name": "quantize", "bits": bits}).compress(
        exact, np.random.default_rng(1)
    )
    level = np.abs(exact).max() / (2 ** (bits - 1) - 1)
    assert np.abs(got - exact).max() <= level * (1 + 1e-5)


def test_error_feedback_loses_nothing_in_the_long_run() -> None:
    """What is sent plus what is still owed is what was computed, at every step."""
    top_k = compressors.parse({"name": "top_k", "share": "25%"})
    path = UpdatePath(top_k, filters.parse("none"))
    rng = np.random.default_rng(3)
    computed, received = np.zeros(8), np.zeros(8)
    for step in range(20):
        fresh = rng.normal(size=8).astype(np.float32)
        computed += fresh
        received += path.send(7, fresh, seed=step)
        assert np.allclose(received + path.owed[7], computed, atol=1e-5)


def test_without_error_feedback_nothing_is_owed() -> None:
    path = UpdatePath(compressors.parse({"name": "quantize", "bits": 4}), filters.parse("none"))
    path.send(0, update(1, 2, 3), seed=0)
    assert path.owed == {}
