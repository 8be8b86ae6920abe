"""Files of a run that only grow: whole lines, written a round at a time, checked when replayed."""

import itertools
import operator
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO

from simfl.core.arguments import called
from simfl.core.files import failure
from simfl.errors import RunError

PACKED = ".zst"
"""What the name of a compressed file ends with: Zstandard, a frame for each piece written."""

_CHUNK = 1 << 16
_SHOWN = 300
"""Characters of a line that is not as it was."""


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a file, without a last one that a crash cut short.

    Raises:
        RunError: it holds something else than text, or can't be read.
    """
    for block, _ in _blocks(path):
        yield from _lines(path, block)


def _lines(path: Path, block: bytes) -> list[str]:
    try:
        return block.decode("utf-8").split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is damaged: {error}") from error


def _blocks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of whole lines of a file, if it is there, and where each ends in the file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        yield from _frames(file, path) if path.suffix == PACKED else _plain(file)


def _plain(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    end = 0
    while lines := file.readlines(_CHUNK):
        block = b"".join(lines) if lines[-1].endswith(b"\n") else b"".join(lines[:-1])
        end += len(block)
        yield block, end


def _frames(file: IO[bytes], path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield what is in each frame; a last one that a crash cut short holds nothing."""
    import zstandard

    data, end = file.read(_CHUNK), 0
    while data:
        frame, parts = zstandard.ZstdDecompressor().decompressobj(), []
        try:
            while data and not frame.eof:
                parts.append(frame.decompress(data))
                end += len(data)
                data = frame.unused_data or file.read(_CHUNK)
        except zstandard.ZstdError as error:
            raise RunError(f"{path} is damaged: {error}") from error
        end -= len(frame.unused_data)
        if frame.eof:
            yield b"".join(parts), end


class GrowingFile:
    """A text file that grows by whole lines and is readable at any moment.

    Lines are kept until `flush` hands them to the operating system in one piece, so that a killed
    run leaves no half line; as a frame of its own if the file's name says that it is compressed.
    Lines that the file had before (of a run being resumed) are not written again: what is replayed
    must equal them byte for byte.  They are read once more as they are needed.

    Attributes:
        count: how many lines were added, or checked.
        before: how many it had when it was opened.

    Raises:
        InputError: it can't be there.
        RunError: the disk is full, or what the file had is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = self.before = self._end = 0
        for block, self._end in _blocks(path):
            self.before += len(_lines(path, block))
        self._recorded = lines_of(path)
        self._digest = sha256()
        self._waiting: list[str] = []
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        except OSError as error:
            raise failure(f"can't write {path}", error) from error
        os.ftruncate(self._descriptor, self._end)

    def append(self, line: str) -> None:
        """Add one line, or check it against the one that is there.

        Raises:
            RunError: a replayed line differs from the recorded one.
        """
        self.count += 1
        if self.count > self.before:
            self._waiting.append(line)
            return
        self._digest.update(_block([line]))
        if line != (recorded := next(self._recorded)):
            raise RunError(
                f"{self.path}: line {self.count} differs from the recorded one; the code, the "
                "data, the scenario or this file has changed since "
                f"({called('`--overwrite`', 'overwrite=True')} begins anew)\n"
                f"  recorded: {_around(recorded, line)}\n  replayed: {_around(line, recorded)}"
            )

    def flush(self) -> None:
        """Write the lines that wait.

        Raises:
            RunError: the disk is full or gone; what was written before stays readable.
        """
        if not self._waiting:
            return
        lines, digest = _block(self._waiting), self._digest.copy()
        digest.update(lines)
        block = memoryview(_packed(self.path, lines))
        written = 0
        try:
            # From where whole lines end, so that it may be done again if it was interrupted.
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            while written < len(block):
                written += os.write(self._descriptor, block[written:])
        except OSError as error:
            os.ftruncate(self._descriptor, self._end)
            raise RunError(f"can't write {self.path}: {error.strerror}") from error
        # One statement without a call: no interruption comes between.
        self._waiting, self._digest, self._end = [], digest, self._end + written

    def close(self) -> None:
        """Write what waits and close; safe to call twice.

        A power failure takes nothing of it then: who finds a summary finds all that it sums up.

        Raises:
            RunError: the disk is full, or the file was deleted meanwhile.
        """
        if self._descriptor >= 0:
            try:
                self.flush()
                os.fsync(self._descriptor)
                if not os.fstat(self._descriptor).st_nlink:
                    raise RunError(f"{self.path} was deleted while it was written")
            finally:
                os.close(self._descriptor)
                self._descriptor = -1

    @property
    def digest(self) -> str:
        """SHA-256 of all lines so far."""
        digest = self._digest.copy()
        digest.update(_block(self._waiting))
        return digest.hexdigest()


def _around(line: str, other: str) -> str:
    """Return so much of a line that it can be seen where it begins to differ from another."""
    alike = itertools.takewhile(bool, map(operator.eq, line, other))
    first = max(sum(alike) - _SHOWN // 2, 0)
    return f"{'...' if first else ''}{line[first : first + _SHOWN]}"


def _block(lines: Sequence[str]) -> bytes:
    return "\n".join([*lines, ""]).encode()


def _packed(path: Path, block: bytes) -> bytes:
    if path.suffix != PACKED:
        return block
    import zstandard

    return zstandard.ZstdCompressor().compress(block)
