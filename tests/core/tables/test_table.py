"""Columns of CSV files: what is wrong is told with its line, whatever the file holds."""

import gzip
from pathlib import Path

import pytest

from simfl.build.calibration.measurements import COLUMNS, measurements
from simfl.core.tables.frame import read_frame
from simfl.core.tables.table import read_table
from simfl.errors import InputError
from simfl.scenario import Scenario
from tests.tiny import TINY


def test_lines_columns_and_choices(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a, b ,c\n1,"x\ny",3\n\n1.0, y ,4\n2,z,5\n')
    table = read_table(tmp_path, "t.csv", ["c", "b"], {"a": [1]})
    assert table.cells["b"] == ["x\ny", "y"]
    assert table.numbers("c", 10.0).tolist() == [30, 40]
    assert [table.place(row) for row in range(len(table))] == ["t.csv:3", "t.csv:5"]


def test_a_column_that_stands_twice_is_refused_if_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a, b ,c,b\n1,2,3,4\n")
    assert read_table(tmp_path, "t.csv", ["a"], {"c": [3]}).cells["a"] == ["1"]
    twice = r"t\.csv: more than one column is called 'b'"
    with pytest.raises(InputError, match=twice):
        read_table(tmp_path, "t.csv", ["b"])
    with pytest.raises(InputError, match=twice):
        read_table(tmp_path, "t.csv", ["a"], {"b": [2]})
    with pytest.raises(InputError, match=twice):
        read_frame(tmp_path / "t.csv")
    header = ",".join([*COLUMNS, COLUMNS[1]])
    (tmp_path / "m.csv").write_text(f"{header}\n")
    with pytest.raises(InputError, match=rf"m\.csv: more than one .* called '{COLUMNS[1]}'"):
        measurements(tmp_path / "m.csv")


def test_a_row_longer_than_the_header_is_refused(tmp_path: Path) -> None:
    """A decimal comma makes two cells of one, and each column after it the one before."""
    (tmp_path / "x.csv").write_text("a,b\n1,2,\n1,5,2\n")
    with pytest.raises(InputError, match=r"x\.csv:3: expected a cell for each .* 2 columns, got 3"):
        read_table(tmp_path, "x.csv", ["b"])


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\n")
    with pytest.raises(InputError, match=r"can't read .*x\.csv: it is empty"):
        read_frame(tmp_path / "x.csv")


def test_a_frames_columns_may_stand_apart(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a, b ,c\n1,2,3\n")
    assert list(read_frame(tmp_path / "t.csv").columns) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("inf", r"t\.csv:3: expected a number in column 'a', got 'inf'"),
        ("", r"t\.csv:3: expected a number in column 'a', got nothing"),
        ("5_5", r"t\.csv:3: expected a number in column 'a', got '5_5'"),
        ("1e308", r"t\.csv:3: expected a number of ordinary size in column 'a', got '1e308'"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_none(tmp_path: Path, cell: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n1,x\n{cell},y\n")
    table = read_table(tmp_path, "t.csv", ["a"])
    with pytest.raises(InputError, match=words):
        table.numbers("a", 1000.0)


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", gzip.compress(b"a\n1\n" * 99, mtime=0)[:-9], b"\x1f\x8b\x08" + b"\xff" * 40],
    ids=["empty", "garbage", "cut short", "bad deflate"],
)
def test_badly_compressed_tables_are_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.csv\.gz|no column"):
        read_table(tmp_path, "t.csv.gz", ["a"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a;b\n1;2\n", r"t\.csv:1: separated by ';'\? save it with commas"),
        (b"a\tb\n1\t2\n", r"t\.csv:1: separated by a tab\? save it with commas"),
        (
            "a,b\n1,2\nö,3\n".encode("latin-1"),
            r"t\.csv: line 3 is not UTF-8 text; save it as CSV in UTF-8",
        ),
    ],
)
def test_spreadsheets_other_ways_are_told(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_table(tmp_path, "t.csv", ["a"])
    with pytest.raises(InputError, match=words):
        read_frame(file)
    with pytest.raises(InputError, match=words):
        measurements(file)
    column = {"column": "a", "unit": "samples/s"}
    trace = {"file": "t.csv", "columns": {"compute": column}}
    with pytest.raises(InputError, match=words):
        Scenario.from_dict({**TINY, "fleet": {"count": 8, "trace": trace}}, folder=tmp_path)
