"""Files that grow by whole lines, and may be compressed."""

import tracemalloc
from pathlib import Path

import pytest

from simfl.errors import RunError
from simfl.runs.folder.growing_file import GrowingFile, lines_of


def test_a_log_that_was_deleted_is_told(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "events.jsonl")
    file.append("{}")
    file.flush()
    file.path.unlink()
    with pytest.raises(RunError, match="was deleted while it was written"):
        file.close()


def test_a_damaged_compressed_log_is_told(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.zst"
    path.write_bytes(b"no frame of zstandard at all")
    with pytest.raises(RunError, match="damaged"):
        list(lines_of(path))


def test_of_long_lines_it_is_told_where_they_differ(tmp_path: Path) -> None:
    """The first 300 characters of both stood there, which were the same."""
    path, same = tmp_path / "log", "x" * 5000
    path.write_text(f"{same}1\n")
    with pytest.raises(RunError) as told:
        GrowingFile(path).append(f"{same}2")
    recorded, replayed = str(told.value).splitlines()[1:]
    assert recorded.endswith("x1")
    assert replayed.endswith("x2")


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_long_files_grow_by_whole_lines(tmp_path: Path, suffix: str) -> None:
    """Many frames, and frames and lines longer than what is read at once."""
    path = tmp_path / f"log{suffix}"
    lines = [f"{n}:" + "äß€x"[n % 4] * (n * n % 9_000) for n in range(300)] + ["y" * 300_000]
    file = GrowingFile(path)
    for number, line in enumerate(lines):
        file.append(line)
        if number % 3 == 0:
            file.flush()
            assert list(lines_of(path))[-1] == line
    file.close()
    assert list(lines_of(path)) == lines
    again = GrowingFile(path)
    for line in [*lines, "one more"]:
        again.append(line)
    again.close()
    assert list(lines_of(path)) == [*lines, "one more"]


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_memory_of_a_replay_does_not_grow_with_the_log(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    lines = [f"{number:0200}" for number in range(20_000)]
    file = GrowingFile(path)
    for number, line in enumerate(lines):
        file.append(line)
        if number % 100 == 0:
            file.flush()
    file.close()
    tracemalloc.start()
    try:
        again = GrowingFile(path)
        for line in lines:
            again.append(line)
        again.close()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert again.before == len(lines)
    assert peak < sum(map(len, lines)) / 4
