from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from simfl.errors import InputError
from simfl.scenario.distributions import Draw
from simfl.scenario.distributions.normal import truncated_normal
from simfl.scenario.parts.device_number import ComputeDraw, DataSizeDraw, DurationDraw, LinkDraw

COMPUTE: TypeAdapter[Draw] = TypeAdapter(ComputeDraw)
LATENCY: TypeAdapter[Draw] = TypeAdapter(DurationDraw)
LINK: TypeAdapter[Draw] = TypeAdapter(LinkDraw)

U = (np.arange(999) + 0.5) / 999
NOBODY = np.zeros(999, dtype=np.int64)


def seconds(name: str, **options: Any) -> Draw:
    return LATENCY.validate_python({"distribution": name, **options})


def quantiles(draw: Draw) -> Any:
    return draw.values(U, NOBODY)


def test_the_same_for_all() -> None:
    draw = COMPUTE.validate_python("3 GFLOP/s")
    assert draw.unit == "FLOP/s"
    assert (quantiles(draw) == 3e9).all()
    assert COMPUTE.dump_python(draw, mode="json") == "3 GFLOP/s"


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (seconds("normal", mean="3 s", std="2 s", min="0 s"), stats.truncnorm(-1.5, np.inf, 3, 2)),
        (
            seconds("normal", mean="3 s", std="2 s", min="9 s", max="10 s"),
            stats.truncnorm(3, 3.5, 3, 2),
        ),
        (seconds("lognormal", median="2 s", sigma=0.5), stats.lognorm(0.5, scale=2)),
        (
            seconds("lognormal", mean="2 s", std="1 s"),
            stats.lognorm(np.sqrt(np.log(1.25)), scale=2 / np.sqrt(1.25)),
        ),
        (seconds("uniform", min="1 s", max="3 s"), stats.uniform(1, 2)),
        (seconds("exponential", mean="4 s"), stats.expon(0, 4)),
        (
            seconds("exponential", mean="4 s", min="1 s", max="3 s"),
            stats.truncexpon(0.5, loc=1, scale=4),
        ),
    ],
)
def test_quantiles_are_those_of_scipy(draw: Draw, law: Any) -> None:
    np.testing.assert_allclose(quantiles(draw), law.ppf(U), rtol=1e-9)


def test_lognormal_truncates_between_its_own_quantiles() -> None:
    law = stats.lognorm(0.5, scale=2)
    low, high = law.cdf(1), law.cdf(4)
    draw = seconds("lognormal", median="2 s", sigma=0.5, min="1 s", max="4 s")
    np.testing.assert_allclose(quantiles(draw), law.ppf(low + U * (high - low)), rtol=1e-9)


def test_truncation_far_out_keeps_its_digits() -> None:
    law = stats.truncnorm(30, 31)
    np.testing.assert_allclose(truncated_normal(U, 30.0, 31.0) - 30, law.ppf(U) - 30, rtol=1e-9)


@pytest.mark.parametrize(("low", "high"), [(38.0, 39.0), (50.0, 51.0), (300.0, 301.0)])
def test_truncation_farther_out_than_probabilities_reach(low: float, high: float) -> None:
    """They were infinite: an uplink of which no value is likely was unlimited, without a word."""
    law = stats.truncnorm(low, high)
    np.testing.assert_allclose(truncated_normal(U, low, high) - low, law.ppf(U) - low, rtol=1e-8)
    np.testing.assert_allclose(
        truncated_normal(U, -high, -low) + low, low - law.ppf(1 - U), rtol=1e-8
    )
    assert (truncated_normal(U, 1e200, np.inf) == 1e200).all()


def test_all_are_near_a_bound_that_hardly_any_would_reach() -> None:
    fast = {"distribution": "lognormal", "median": "1 Mbit/s", "sigma": 0.05, "min": "10 Mbit/s"}
    links = quantiles(LINK.validate_python(fast))
    assert links.min() >= 10e6
    assert links.max() < 11e6
    narrow = {
        "distribution": "normal",
        "mean": "1 Mbit/s",
        "std": "1e-310 bit/s",
        "min": "2 Mbit/s",
    }
    assert (quantiles(LINK.validate_python(narrow)) == 2e6).all()
    near = quantiles(seconds("lognormal", median="100 ms", sigma=0.02, max="40 ms"))
    assert near.max() <= 0.04
    assert near.min() > 0.038


def test_zipf_reaches_a_bound_that_is_a_multiple() -> None:
    draw = seconds("zipf", exponent=1, scale="100 ms", max="300 ms")  # 0.3 / 0.1 is below 3
    assert np.unique(quantiles(draw)).tolist() == [0.1, 0.2, 0.3]


def test_zipf_is_a_power_law_of_ranks() -> None:
    draw = seconds("zipf", exponent=1.5, scale="2 s", max="21 s")
    ranks = np.arange(1, 11)
    shares = ranks**-1.5 / (ranks**-1.5).sum()
    found = [(quantiles(draw) == 2.0 * rank).mean() for rank in ranks]
    np.testing.assert_allclose(found, shares, atol=2 / 999)
    beyond = seconds("zipf", exponent=1.5, scale="2 s", min="3 s", max="21 s")
    assert quantiles(beyond).min() == 4.0


def test_choices_have_their_weights() -> None:
    draw = LINK.validate_python(
        {"distribution": "choice", "values": ["1 Mbit/s", "unlimited"], "weights": [1, 2]}
    )
    assert (quantiles(draw) == 1e6).sum() == 333
    assert np.isinf(quantiles(draw)).sum() == 666


def test_the_order_in_which_choices_stand_is_no_matter() -> None:
    """A correlation asked for was turned round where the larger values stood first."""
    draw = seconds("choice", values=["9 s", "1 s", "4 s", "1 s"], weights=[1, 2, 3, 4])
    expected = np.repeat([1.0, 4.0, 9.0], [599, 300, 100])
    assert quantiles(draw).tolist() == expected.tolist()
    equal = seconds("choice", values=["9 s", "1 s", "4 s"])
    assert quantiles(equal).tolist() == np.repeat([1.0, 4.0, 9.0], 333).tolist()


def test_measured_values_are_drawn_equally(tmp_path: Path) -> None:
    (tmp_path / "wifi.csv").write_text("name,speed\na,100\nb, 300\nc,\nd,200\n")
    options = {"file": "wifi.csv", "column": "speed", "unit": "kbit/s"}
    draw = LINK.validate_python(
        {"distribution": "empirical", **options}, context={"folder": tmp_path}
    )
    listed = LINK.validate_python(
        {"distribution": "empirical", "values": ["300 kbit/s", "100 kbit/s", "200 kbit/s"]}
    )
    for found in (draw, listed):
        values, counts = np.unique(quantiles(found), return_counts=True)
        assert values.tolist() == [1e5, 2e5, 3e5]
        assert counts.tolist() == [333, 333, 333]
    assert LINK.dump_python(draw, mode="json") == {"distribution": "empirical", **options}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"file": "no.csv", "column": "speed", "unit": "kbit/s"}, "can't read"),
        ({"file": "wifi.csv", "column": "sped", "unit": "kbit/s"}, "did you mean 'speed'?"),
        ({"file": "wifi.csv", "column": "speed", "unit": "kB"}, "a data size"),
        (
            {"file": "wifi.csv", "column": "name", "unit": "kbit/s"},
            "wifi.csv:2: expected a number in column 'name', got 'a'",
        ),
        ({"file": "wifi.csv", "column": "lost", "unit": "kbit/s"}, "wifi.csv:3: '-1' can't be"),
        ({"file": "wifi.csv", "column": "speed"}, "`column` and `unit`"),
        ({"file": "wifi.csv", "values": ["1 bit/s"]}, "not both"),
        ({"values": ["1 bit/s"], "min": "2 bit/s"}, "no value lies between"),
    ],
)
def test_what_was_not_measured(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "wifi.csv").write_text("name,speed,lost\na,100,1\nb,300,-1\n")
    with pytest.raises(ValidationError) as told:
        LINK.validate_python({"distribution": "empirical", **options}, context={"folder": tmp_path})
    assert words in str(told.value.errors()[0]["ctx"])


SIZES = np.array([10, 20, 30, 40, 400])


def test_speed_by_data_size_is_fedcores() -> None:
    """docs/algorithms.md F.1: c_i = 1 + .25 (m_i - mean m) / std_pop(m), deterministic."""
    draw = COMPUTE.validate_python(
        {"distribution": "data_size", "mean": "1 samples/s", "std": "0.25 samples/s"}
    )
    speeds = draw.values(np.full(5, 0.3), SIZES)
    np.testing.assert_allclose(speeds, 1 + 0.25 * (SIZES - 100) / SIZES.std(), rtol=1e-14)
    assert draw.values(np.full(2, 0.3), np.array([7, 7])).tolist() == [1.0, 1.0]


def test_partial_correlation_with_data_size() -> None:
    draw = COMPUTE.validate_python(
        {
            "distribution": "data_size", "mean": "10 samples/s", "std": "1 samples/s",
            "correlation": 0.6,
        }
    )  # fmt: skip
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 1000, 4000)
    speeds = draw.values(rng.random(4000), sizes)
    assert np.corrcoef(speeds, sizes)[0, 1] == pytest.approx(0.6, abs=0.03)
    assert speeds.mean() == pytest.approx(10, abs=0.05)
    assert speeds.std() == pytest.approx(1, abs=0.05)


def test_no_device_computes_backwards() -> None:
    draw = COMPUTE.validate_python(
        {"distribution": "data_size", "mean": "1 samples/s", "std": "2 samples/s"}
    )
    with pytest.raises(InputError, match="to a device with 10 samples; give it a `min`"):
        draw.check(draw.values(np.full(5, 0.5), SIZES), SIZES)
    held = COMPUTE.validate_python({**COMPUTE.dump_python(draw, mode="json"), "min": "1 samples/s"})
    assert held.values(np.full(5, 0.5), SIZES).min() == 1.0


EVERY: list[dict[str, Any]] = [
    {"distribution": "normal", "mean": "3 s", "std": "2 s", "min": "1 s", "max": "8 s"},
    {"distribution": "normal", "mean": "3 s", "std": "0 s"},
    {"distribution": "lognormal", "median": "2 s", "sigma": 0.5, "max": "5 s"},
    {"distribution": "lognormal", "mean": "2 s", "std": "1 s", "min": "10 ms"},
    {"distribution": "uniform", "min": "1 s", "max": "1 min"},
    {"distribution": "exponential", "mean": "4 s", "min": "1 s"},
    {"distribution": "zipf", "exponent": 1.2, "scale": "1 s", "max": "1 min"},
    {"distribution": "choice", "values": ["1 s", "2 s"], "weights": [0.5, 1.5]},
    {"distribution": "empirical", "values": ["3 s", "1 s", "2 s"]},
    {"distribution": "data_size", "mean": "100 s", "std": "1 s", "correlation": 0.5},
    {"distribution": "constant", "value": "1 s"},
]


@pytest.mark.parametrize("options", EVERY)
def test_options_survive_as_text(options: dict[str, Any]) -> None:
    draw = LATENCY.validate_python(options)
    text = LATENCY.dump_python(draw, mode="json")
    assert text == (options if options["distribution"] != "constant" else options["value"])
    assert LATENCY.validate_python(text) == draw


@settings(max_examples=100)
@given(
    options=st.sampled_from([one for one in EVERY if one["distribution"] != "data_size"]),
    u=st.lists(st.floats(2.0**-54, 1 - 2.0**-53), min_size=1, max_size=20),
)
def test_a_device_depends_on_nothing_but_its_own_uniform(
    options: dict[str, Any], u: list[float]
) -> None:
    draw = LATENCY.validate_python(options)
    uniforms = np.array(u)
    together = draw.values(uniforms, np.zeros(len(u), dtype=np.int64))
    alone = [draw.values(uniforms[[i]], np.zeros(1, dtype=np.int64))[0] for i in range(len(u))]
    assert together.tolist() == alone
    assert (np.diff(together[np.argsort(uniforms, kind="stable")]) >= 0).all()
    assert together.min() >= draw.lowest()
    assert np.isfinite(together).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"distribution": "normal", "mean": "3 s", "std": "1 s"}, "reaches below zero"),
        ({"distribution": "gauss"}, "unknown distribution 'gauss'"),
        ({"mean": "3 s"}, "a mapping with a `distribution`"),
        ({"distribution": "lognormal", "median": "1 s"}, "got `median`"),
        ({"distribution": "lognormal", "median": "1 s", "std": "1 s"}, "got `median` and `std`"),
        ({"distribution": "lognormal", "median": "0 s", "sigma": 1}, "above zero"),
        ({"distribution": "exponential", "mean": "0 s"}, "above zero"),
        ({"distribution": "uniform", "min": "2 s", "max": "1 s"}, "`min` must be below `max`"),
        ({"distribution": "zipf", "exponent": 1.2, "scale": "2 s", "max": "1 s"}, "times `scale`"),
        (
            {"distribution": "data_size", "mean": "2 s", "std": "1 s", "min": "9 s", "max": "1 s"},
            "`min` must be below `max`",
        ),
        (
            {"distribution": "zipf", "exponent": 1, "scale": "2 s", "min": "3 s", "max": "3.5 s"},
            "no multiple",
        ),
        ({"distribution": "choice", "values": []}, "at least 1"),
        ({"distribution": "choice", "values": ["1 s"], "weights": [1, 2]}, "got 2 and 1"),
        ({"distribution": "choice", "values": ["1 s"], "weights": [0]}, "all zero"),
        (
            {"distribution": "choice", "values": ["1 s", "2 s"], "weights": [1e308, 1e308]},
            "without bound",
        ),
        ({"distribution": "choice", "values": ["unlimited"]}, "expected a duration"),
    ],
)
def test_distributions_that_are_none(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as told:
        LATENCY.validate_python(options)
    error = told.value.errors()[0]
    assert words in error["msg"] + str(error.get("ctx"))


def test_a_rate_may_be_given_as_a_time() -> None:
    given = {"distribution": "exponential", "mean": "20 ms/sample", "max": "1 s/sample"}
    draw = COMPUTE.validate_python(given)
    assert draw.unit == "s/sample"
    assert COMPUTE.dump_python(draw, mode="json") == given
    with pytest.raises(ValidationError, match="reaches zero, where a time per sample can't be"):
        COMPUTE.validate_python(
            {"distribution": "uniform", "min": "0 s/sample", "max": "1 s/sample"}
        )


def test_rates_are_of_one_kind_within_a_field() -> None:
    flops = COMPUTE.validate_python(
        {"distribution": "choice", "values": ["1 GFLOP/s", "2 TFLOP/s"]}
    )
    assert flops.unit == "FLOP/s"
    with pytest.raises(ValidationError) as told:
        COMPUTE.validate_python({"distribution": "choice", "values": ["1 GFLOP/s", "2 samples/s"]})
    assert "in samples/s; units that fit: FLOP/s" in str(told.value.errors()[0]["ctx"])


def test_sizes_are_in_bytes() -> None:
    adapter: TypeAdapter[Draw] = TypeAdapter(DataSizeDraw)
    assert adapter.validate_python("4 GiB").values(U[:1], NOBODY[:1]).tolist() == [4 * 2.0**30]
