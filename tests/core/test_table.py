"""Columns of CSV files: what is wrong is told with its line, whatever the file holds."""

import gzip
from pathlib import Path

import pytest

from simfl.core.table import read_table
from simfl.errors import InputError


def test_lines_columns_and_choices(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a, b ,c\n1,"x\ny",3\n\n1.0, y ,4\n2,z,5\n')
    table = read_table(tmp_path, "t.csv", ["c", "b"], {"a": [1]})
    assert table.cells["b"] == ["x\ny", "y"]
    assert table.numbers("c", 10.0).tolist() == [30, 40]
    assert [table.place(row) for row in range(len(table))] == ["t.csv:3", "t.csv:5"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("inf", r"t\.csv:3: expected a number in column 'a', got 'inf'"),
        ("", r"t\.csv:3: expected a number in column 'a', got nothing"),
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
def test_bad_compression(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"t\.csv\.gz|no column"):
        read_table(tmp_path, "t.csv.gz", ["a"])
