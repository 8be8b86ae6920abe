"""Event lines are what `json.dumps` makes, only sooner."""

import csv
import io
import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.core.rows import ClientRow, RoundRow
from simfl.runs.folder.eventlog import decode, encode, encode_row

CLIENT = ClientRow(
    1, 2, 'a "low-end" é', 0.1, None, 1e22, 5e-324, "late", 3, 4, 0, 0, 10**12, 2, 1.5
)
ROUND = RoundRow(1, 0.0, 1 / 3, accuracy=None, loss=0.5, train_loss=0.25, energy_j=1.5)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
facts = st.dictionaries(
    st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1),
    scalars | st.lists(scalars) | st.dictionaries(st.text(), scalars),
)


def plain(time_s: float, kind: str, what: dict[str, Any]) -> str:
    return json.dumps({"t": time_s, "event": kind} | what, separators=(",", ":"))


@settings(max_examples=100)
@given(time_s=st.floats(0, 1e9), kind=st.text(), what=facts)
def test_equals_json(time_s: float, kind: str, what: dict[str, Any]) -> None:
    what = {key: value for key, value in what.items() if key not in ("t", "event")}
    assert encode(time_s, kind, what) == plain(time_s, kind, what)


@pytest.mark.parametrize("row", [CLIENT, ROUND])
def test_rows_are_unfolded(row: ClientRow | RoundRow) -> None:
    line, cells = encode_row(2.0, "row", row)
    assert line == plain(2.0, "row", asdict(row))
    written = io.StringIO()
    csv.writer(written).writerows([cells, asdict(row).values()])
    assert len({*written.getvalue().splitlines()}) == 1


def test_a_row_that_lacks_numbers_is_null_in_json_and_as_it_is_in_csv() -> None:
    row = RoundRow(1, 0.0, loss=math.nan, train_loss=math.inf, accuracy=None)
    line, cells = encode_row(2.0, "row", row)
    assert decode(line)["loss"] is decode(line)["train_loss"] is decode(line)["accuracy"] is None
    shown = dict(zip(asdict(row), map(str, cells), strict=True))
    assert (shown["loss"], shown["train_loss"], shown["accuracy"]) == ("nan", "inf", "None")


def test_what_json_has_no_word_for_becomes_null() -> None:
    what = {"a": math.nan, "b": -math.inf, "c": [1.0, math.nan], "d": {"x": math.inf, "y": 2}}
    assert decode(encode(0.0, "x", what)) == {
        "t": 0.0, "event": "x", "a": None, "b": None, "c": [1.0, None], "d": {"x": None, "y": 2}
    }  # fmt: skip


def test_time_begins_at_an_integer_as_in_simpy() -> None:
    assert encode(0, "x", {}) == '{"t":0,"event":"x"}'


def test_numpy_floats_are_floats() -> None:
    assert encode(np.float64(0.1), "x", {"a": np.float64(0.3)}) == '{"t":0.1,"event":"x","a":0.3}'
