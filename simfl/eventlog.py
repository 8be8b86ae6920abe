"""Files of a run that only grow: whole lines, written a round at a time, checked when replayed."""

import json
import math
import os
from dataclasses import asdict, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from simfl.errors import RunError


def encode(time_s: float, kind: str, facts: dict[str, Any]) -> str:
    """Return the log line of one event; NaN and infinity become null."""
    record: dict[str, Any] = {"t": time_s, "event": kind}
    for name, value in facts.items():
        if name == "row" and is_dataclass(value) and not isinstance(value, type):
            record.update(asdict(value))
        else:
            record[name] = value
    try:
        return json.dumps(record, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(record), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def decode(line: str) -> dict[str, Any]:
    """Return the event of a log line."""
    event: dict[str, Any] = json.loads(line)
    return event


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file, without a last one that a crash cut short."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return text[: text.rfind("\n") + 1].splitlines()


class GrowingFile:
    """A text file that grows by whole lines and is readable at any moment.

    Lines are kept until `flush` hands them to the operating system in one piece, so that a killed
    run leaves no half line.  Lines that the file had before (of a run being resumed) are not
    written again: what is replayed must equal them byte for byte.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._before = whole_lines(path)
        self._digest = sha256()
        self._waiting: list[str] = []
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        kept = sum(len(line.encode()) + 1 for line in self._before)
        os.ftruncate(self._descriptor, kept)
        os.lseek(self._descriptor, 0, os.SEEK_END)

    def append(self, line: str) -> None:
        """Add one line, or check it against the one that is there.

        Raises:
            RunError: a replayed line differs from the recorded one.
        """
        self._digest.update(line.encode() + b"\n")
        self.count += 1
        if self.count > len(self._before):
            self._waiting.append(line)
        elif line != self._before[self.count - 1]:
            raise RunError(
                f"{self.path}: line {self.count} differs from the recorded one; the code, the "
                f"data or the scenario has changed since\n"
                f"  recorded: {self._before[self.count - 1][:300]}\n  replayed: {line[:300]}"
            )

    def flush(self) -> None:
        """Write the lines that wait.

        Raises:
            RunError: the disk is full or gone; what was written before stays readable.
        """
        if not self._waiting:
            return
        block = ("\n".join(self._waiting) + "\n").encode()
        start = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        try:
            while block:
                block = block[os.write(self._descriptor, block) :]
        except OSError as error:
            os.ftruncate(self._descriptor, start)
            raise RunError(
                f"can't write {self.path}: {error.strerror}; once that is mended, "
                f"`simfl resume {self.path.parent}` goes on from the last checkpoint"
            ) from error
        self._waiting.clear()

    def close(self) -> None:
        """Write what waits and close; safe to call twice."""
        if self._descriptor >= 0:
            try:
                self.flush()
            finally:
                os.close(self._descriptor)
                self._descriptor = -1

    @property
    def digest(self) -> str:
        """SHA-256 of all lines so far."""
        return self._digest.hexdigest()
