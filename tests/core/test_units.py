import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from simfl.core.units import (
    DATA_RATE,
    DATA_SIZE,
    DIMENSIONS,
    DURATION,
    ENERGY,
    FLOP_RATE,
    POWER,
    SAMPLE_RATE,
    SAMPLE_TIME,
    Dimension,
    Duration,
    LinkRate,
    Percent,
    Ratio,
    compute_dimension,
    format_quantity,
    parse_quantity,
    parse_share,
    quantity_schema,
)
from simfl.errors import UnitError
from simfl.report.formats import duration

PERCENT: TypeAdapter[float] = TypeAdapter(Percent)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("1.5 h", DURATION, 5400.0),
        ("50 ms", DURATION, 0.05),
        ("250us", DURATION, 0.00025),
        ("250 µs", DURATION, 0.00025),
        ("2 d", DURATION, 172800.0),
        ("0 s", DURATION, 0.0),
        ("1e-3 s", DURATION, 0.001),
        (".5 min", DURATION, 30.0),
        ("1 h 30 min", DURATION, 5400.0),
        ("1h30min", DURATION, 5400.0),
        (" 1 d 12 h 0.5 s ", DURATION, 129600.5),
        ("1 min 90 s", DURATION, 150.0),
        ("10 Mbit/s", DATA_RATE, 10e6),
        ("10 Mbps", DATA_RATE, 10e6),
        ("1 MB/s", DATA_RATE, 8e6),
        ("1 MiB/s", DATA_RATE, 8388608.0),
        ("6 kB/min", DATA_RATE, 800.0),
        ("512 MiB", DATA_SIZE, 536870912.0),
        ("1 kB", DATA_SIZE, 1000.0),
        ("1 KiB", DATA_SIZE, 1024.0),
        ("10 GB", DATA_SIZE, 10e9),
        ("8 Mbit", DATA_SIZE, 1e6),
        ("4 bit", DATA_SIZE, 0.5),
        ("200 samples/s", SAMPLE_RATE, 200.0),
        ("6 samples/min", SAMPLE_RATE, 0.1),
        ("3 GFLOP/s", FLOP_RATE, 3e9),
        ("20 ms/sample", SAMPLE_TIME, 0.02),
        ("1.2 TFLOP/s", FLOP_RATE, 1.2e12),
        ("800 mW", POWER, 0.8),
        ("2 kJ", ENERGY, 2000.0),
        ("10 Wh", ENERGY, 36000.0),
        ("500 mWh", ENERGY, 1800.0),
    ],
)
def test_values_in_base_units(text: str, dimension: Dimension, value: float) -> None:
    assert parse_quantity(text, dimension) == value


@pytest.mark.parametrize(
    ("value", "dimension", "words"),
    [
        (10, DATA_RATE, "got 10; add a unit: bit/s, kbit/s, Mbit/s, Gbit/s"),
        (0.5, DURATION, "got 0.5; add a unit: us, ms, s, min, h, d"),
        ("10", DATA_SIZE, "add a unit: B, kB, KiB"),
        ("10 Mb/s", DATA_RATE, "'Mb/s' may mean bits or bytes: write 'Mbit/s' or 'MB/s'"),
        ("10 kb", DATA_SIZE, "write 'kbit' or 'kB'"),
        ("10 KB", DATA_SIZE, "write 'kB' (1000 bytes) or 'KiB' (1024 bytes)"),
        ("10 MBps", DATA_RATE, "write 'MB/s'"),
        ("10 mbit/s", DATA_RATE, "did you mean 'Mbit/s'?"),
        ("10 Mbit", DATA_RATE, "a data size; units that fit: bit/s"),
        ("10 MB/s", DATA_SIZE, "a data rate; units that fit"),
        ("3 GFLOP/s", SAMPLE_RATE, "a compute rate in FLOP/s; units that fit: samples/s"),
        ("3 W", ENERGY, "a power; units that fit: J"),
        ("3 parsec", DURATION, "unknown unit 'parsec'"),
        ("3 s^2", DURATION, "unknown unit"),
        ("3m", DURATION, "'m' may mean minutes, months or metres: write '3 min' for minutes"),
        ("1 h 30 m", DURATION, "write '30 min' for minutes"),
        ("1 h 30 B", DURATION, "a data size; units that fit: us, ms"),
        ("1 h 30", DURATION, "several units are written such as '1 h 30 min'"),
        ("1 h, 30 min", DURATION, "several units are written such as '1 h 30 min'"),
        ("30 min 1 h", DURATION, "from the largest to the smallest, each once: '1 h 30 min'"),
        ("1 min 1 min", DURATION, "from the largest to the smallest, each once: '1 h 30 min'"),
        ("1 h -30 min", DURATION, "can't be negative"),
        ("-1 h 90 min", DURATION, "can't be negative"),
        ("1e9 d 1e9 h", DURATION, "too large a duration"),
        ("1e1" + "e1" * 40 + "!", DURATION, "expected a duration"),
        ("1 MB 500 kB", DATA_SIZE, "unknown unit 'MB 500 kB'"),
        ("3 ks", DURATION, "unknown unit 'ks', expected one of: us, ms, s"),
        ("4000 mAh", ENERGY, "is a charge: times the voltage it is an energy, such as 4000 mAh x"),
        ("4 Ah", ENERGY, "4 Ah x 3.85 V = 15.4 Wh"),
        ("4 Ah", replace(ENERGY, positive=True), "4 Ah x 3.85 V"),  # as the capacity of a battery
        ("3m", replace(DURATION, positive=True), "'m' may mean minutes"),
        ("2 horus", DURATION, "did you mean 'hours'?"),
        ("100 msec", DURATION, "did you mean 'ms'?"),
        ("3 usecs", DURATION, "did you mean 'us'?"),
        ("2 jouls", ENERGY, "did you mean 'joules'?"),
        ("5 kw", POWER, "did you mean 'kW'?"),
        ("3 GFLOPs", FLOP_RATE, "did you mean 'GFLOPs/s'?"),
        ("10 megabytes/s", DATA_RATE, "did you mean 'MB/s'?"),
        ("10 M", DATA_SIZE, "unknown unit 'M', expected one of: B, kB"),
        ("0." + "0" * 5000 + "1 s", DURATION, "expected a duration"),
        ("-1 s", DURATION, "can't be negative"),
        ("0 bit/s", DATA_RATE, "above zero"),
        ("1e-400 bit/s", DATA_RATE, "above zero"),
        ("nan s", DURATION, "finite"),
        ("inf s", DURATION, "finite"),
        ("1e999 s", DURATION, "finite"),
        ("1e308 d", DURATION, "'1e308 d' is too large a duration, at most 4e12 s"),
        ("4.1e12 s", DURATION, "too large"),  # where a clock does not tell milliseconds any more
        ("1e-300 s/sample", SAMPLE_TIME, "too small a time per sample, at least 1e-18 s/sample"),
        ("1e-300 bit/s", DATA_RATE, "too small a data rate, at least 1e-18 bit/s"),
        ("1e300 samples/s", SAMPLE_RATE, "too large a compute rate, at most 1e18 samples/s"),
        ("unlimited", DURATION, "expected a duration"),
        ("", DURATION, "expected a duration"),
        ("fast", DATA_RATE, "expected a data rate such as '10 Mbit/s', got 'fast'"),
        ("1,5 s", DURATION, "got '1,5 s'; numbers have a decimal point, and nothing else"),
        ("1_000 s", DURATION, "got '1_000 s'; numbers have a decimal point"),
        ("1 000 s", DURATION, "got '1 000 s'; numbers have a decimal point"),
        (None, DURATION, "got None"),
        (True, DURATION, "got True"),
        (["1 s"], DURATION, "got ['1 s']"),
    ],
)
def test_what_is_no_quantity(value: object, dimension: Dimension, words: str) -> None:
    with pytest.raises(UnitError) as told:
        parse_quantity(value, dimension)
    assert words in str(told.value)


@settings(max_examples=200)
@given(st.one_of(st.floats(1e-6, 1e3), st.floats(1e3, 8.6e7)))
def test_durations_that_reports_print_are_read_back(seconds: float) -> None:
    digits = max(0.05, 0.5 * 3600 if seconds >= 86400 else 30 if seconds >= 3600 else 0.5)
    assert parse_quantity(duration(seconds), DURATION) == pytest.approx(seconds, abs=digits)


numbers = st.floats(0, 1e12, allow_nan=False).map(abs)


@settings(max_examples=300)
@given(st.sampled_from(DIMENSIONS), numbers)
def test_text_gives_back_the_identical_float(dimension: Dimension, value: float) -> None:
    if value >= 1 / dimension.largest or not dimension.positive:
        text = format_quantity(value, dimension)
        assert parse_quantity(text, dimension) == value
        assert text.split()[1] in dimension.units


@settings(max_examples=200)
@given(st.decimals(0, 10**9, places=4, allow_nan=False))
def test_conversion_rounds_once(number: Any) -> None:
    assert parse_quantity(f"{number} ms", DURATION) == float(Fraction(number) / 1000)
    assert parse_quantity(f"{number} KiB", DATA_SIZE) == float(Fraction(number) * 1024)


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0.0, DURATION, "0 s"),
        (0.02, DURATION, "20 ms"),
        (30.0, DURATION, "30 s"),
        (43200.0, DURATION, "12 h"),
        (1.25e6, DATA_RATE, "1.25 Mbit/s"),
        (536870912.0, DATA_SIZE, "512 MiB"),
        (1 / 3, DURATION, "333.3333333333333 ms"),
        (math.inf, DATA_RATE, "unlimited"),
    ],
)
def test_values_are_written_as_people_do(value: float, dimension: Dimension, text: str) -> None:
    assert format_quantity(value, dimension) == text


@pytest.mark.parametrize("value", ["unlimited", "Unlimited", "inf", math.inf])
def test_a_link_may_be_unlimited(value: object) -> None:
    adapter: TypeAdapter[float] = TypeAdapter(LinkRate)
    assert adapter.validate_python(value) == math.inf
    assert adapter.dump_python(math.inf, mode="json") == "unlimited"
    with pytest.raises(ValidationError):
        adapter.validate_python("-inf")


@pytest.mark.parametrize(
    ("value", "dimension"),
    [
        ("200 samples/s", SAMPLE_RATE),
        ("3 GFLOP/s", FLOP_RATE),
        ("20 ms/sample", SAMPLE_TIME),
    ],
)
def test_compute_rates_keep_which_they_are(value: str, dimension: Dimension) -> None:
    assert compute_dimension(value) is dimension


@pytest.mark.parametrize("value", [3, "3 W", "3 GFLOPS", "0 FLOP/s", None])
def test_what_is_no_compute_rate(value: object) -> None:
    with pytest.raises(UnitError, match="compute rate"):
        parse_quantity(value, compute_dimension(value))


@pytest.mark.parametrize(
    ("value", "share"), [("30%", 0.3), (0.3, 0.3), ("0.3", 0.3), (1, 1.0), ("100 %", 1.0), (0, 0.0)]
)
def test_a_share_is_a_percentage_or_a_fraction(value: object, share: float) -> None:
    assert PERCENT.validate_python(value) == share
    assert TypeAdapter(Ratio).validate_python("130%") == 1.3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (30, "did you mean '30%'?"),
        ("130%", "at most 100%"),
        ("-3%", "can't be negative"),
        (math.nan, "expected a share"),
        ("1e400%", "expected a share that is finite, got '1e400%'"),
        ("-1e400", "expected a share that is finite"),
        (True, "expected a share"),
        ("a third", "expected a share"),
    ],
)
def test_what_is_no_share(value: object, words: str) -> None:
    with pytest.raises(UnitError) as told:
        parse_share(value)
    assert words in str(told.value)


def test_a_forgotten_percent_sign_is_told_of_shares_above_one_too() -> None:
    assert parse_share(1.3, 100.0) == parse_share("130%", 100.0) == 1.3
    with pytest.raises(UnitError, match="did you mean '130%'"):
        parse_share(130, 100.0)


def test_a_share_of_any_size_has_a_percent_sign_above_one() -> None:
    assert parse_share("460%", None) == 4.6
    assert parse_share(0.046, None) == 0.046
    with pytest.raises(UnitError, match=r"did you mean '4\.6%', or '460%'"):
        parse_share(4.6, None)


@settings(max_examples=300)
@given(st.floats(0, 1))
def test_shares_survive_as_text(share: float) -> None:
    assert PERCENT.validate_python(PERCENT.dump_python(share, mode="json")) == share


@settings(max_examples=300)
@given(st.floats(0, 1000))
def test_shares_of_any_size_survive_as_text(share: float) -> None:
    ratio = TypeAdapter(Ratio)
    assert ratio.validate_python(ratio.dump_python(share, mode="json")) == share


def test_fields_may_have_bounds_of_their_own() -> None:
    from typing import Annotated

    from pydantic import Field

    adapter: TypeAdapter[float] = TypeAdapter(Annotated[Duration, Field(gt=0)])
    assert adapter.validate_python("1 s") == 1.0
    with pytest.raises(ValidationError, match="greater than 0"):
        adapter.validate_python("0 s")


def test_models_that_refuse_infinity_may_have_unlimited_links() -> None:
    class Link(BaseModel):
        model_config = ConfigDict(allow_inf_nan=False)
        rate: LinkRate
        loss: float

    assert Link.model_validate({"rate": "unlimited", "loss": 0}).rate == math.inf
    with pytest.raises(ValidationError, match="finite"):
        Link.model_validate({"rate": "unlimited", "loss": math.inf})


@pytest.mark.parametrize(
    ("unit", "dimension", "factor"),
    [
        ("kbits/s", DATA_RATE, 1000),
        ("Gbps", DATA_RATE, 10**9),
        ("MiB/h", DATA_RATE, Fraction(8 * 2**20, 3600)),
        ("TiB", DATA_SIZE, 2**40),
        ("kbit", DATA_SIZE, 125),
        ("J/s", POWER, 1),
        ("kWh/h", POWER, 1000),
        ("Wh/min", POWER, 60),
        ("PFLOP/s", FLOP_RATE, 10**15),
        ("FLOPs/ms", FLOP_RATE, 1000),
        ("samples/h", SAMPLE_RATE, Fraction(1, 3600)),
        ("mWh", ENERGY, Fraction(36, 10)),
        ("μs", DURATION, Fraction(1, 10**6)),
        ("ns", DURATION, Fraction(1, 10**9)),
        ("hrs", DURATION, 3600),
        ("MW", POWER, 10**6),
        ("MWh", ENERGY, 3600 * 10**6),
        ("Ws", ENERGY, 1),
        ("Mbyte/s", DATA_RATE, 8 * 10**6),
    ],
)
def test_units_are_worth(unit: str, dimension: Dimension, factor: Fraction) -> None:
    for number in ("1", "0.1", "7e-5", "123456.789"):
        assert parse_quantity(f"{number} {unit}", dimension) == float(Fraction(number) * factor)


WRITTEN = [
    *("s", "ms", "hrs", "J/W", "MB/kbps", "furlongs", "m", "S"),
    *("B", "KiB", "kbits", "Mbps", "bit/s", "GiB/h", "Mb/s", "furlongs/s", "kb", "MB/s/s"),
    *("sample", "samples/min", "FLOP", "PFLOP/s", "gflop/s"),
    *("mW", "kWh/h", "Wh", "joules", "kWs", "mAh"),
]


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=lambda dimension: dimension.base)
def test_the_schema_has_the_units_of_the_reader(dimension: Dimension) -> None:
    """Whatever looks like a unit was one: editors found no fault with one that is misspelt."""
    pattern = re.compile(quantity_schema((dimension,))["pattern"])
    written = [f"{pair} {unit}" for unit in WRITTEN for pair in ("2.5", "3 d 5", "1MB 5")]
    assert [text for text in written if pattern.search(text)] == [
        text for text in written if is_read(text, dimension)
    ]


def is_read(text: str, dimension: Dimension) -> bool:
    try:
        parse_quantity(text, dimension)
    except UnitError:
        return False
    return True
