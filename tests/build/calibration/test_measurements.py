"""Files of measurements: what is wrong in them is told with its line and column."""

import math
from pathlib import Path

import pytest

from simfl.build.calibration.measurements import measurements
from simfl.errors import InputError

HEADER = "client,samples,epochs,download_s,download_bytes,compute_s,upload_s,upload_bytes"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,10,1,fast,100,1,1,100", r"pilot.csv:3: column download_s: .* got 'fast'"),
        ("a,10,1,1,100,-2,1,100", r"pilot.csv:3: column compute_s: .* got '-2'"),
        ("a,0,1,1,100,1,1,100", r"pilot.csv:3: column samples: .* got '0'"),
        ("a,10,1,1,100,1,inf,100", r"pilot.csv:3: column upload_s: .* got 'inf'"),
        ("a,10,1,1,100,1,nan,100", r"pilot.csv:3: column upload_s: .* got 'nan'"),
        ("a,1_0,1,1,100,1,1,100", r"pilot.csv:3: column samples: .* got '1_0'"),
        ("a,10,1,1,,1,1,100", r"pilot.csv:3: column download_bytes: .* got ''"),
        (",10,1,1,100,1,1,100", r"pilot.csv:3: column client: expected a name"),
        ("a,10,1,1", r"pilot.csv:3: expected a cell for each column"),
        ("a,10,1,1,1,1,1,1,1", r"pilot.csv:3: expected a cell for each column"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_column(
    tmp_path: Path, row: str, message: str
) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text(f"{HEADER}\na,10,1,1,100,1,1,100\n{row}\n")
    with pytest.raises(InputError, match=message):
        measurements(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("client,samples\na,1\n", "pilot.csv:1: no column epochs, download_s"),
        (HEADER + "\n", "no row of measurements"),
        ("", "no column client"),
    ],
)
def test_a_file_without_columns_or_rows_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        measurements(path)


def test_names_of_columns_may_stand_apart(tmp_path: Path) -> None:
    """As in any other table: groups of which the name stood apart were taken for none."""
    path = tmp_path / "pilot.csv"
    path.write_text(f"{HEADER.replace(',', ', ')}, group\na, 10, 1, 1, 100, 1, 1, 100, old\n")
    [row] = measurements(path).to_dict("records")
    assert (row["client"], row["samples"], row["upload_bytes"], row["group"]) == (
        "a", 10, 100, "old",
    )  # fmt: skip


def test_bytes_of_a_phase_that_did_not_end_may_be_left_empty(tmp_path: Path) -> None:
    """Nobody uses them, and yet a number was asked for."""
    path = tmp_path / "pilot.csv"
    path.write_text(f"{HEADER}\na,10,1,1,100,1,,\n")
    [row] = measurements(path).to_dict("records")
    assert math.isnan(row["upload_bytes"])
    path.write_text(f"{HEADER}\na,10,1,1,100,1,1,\n")
    with pytest.raises(InputError, match=r"pilot.csv:2: column upload_bytes: .* got ''"):
        measurements(path)
