"""Disks that fail: one that is full, one that forgets what was not synced, one that is cut off."""

import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WRITING = set("wax+")


def full() -> OSError:
    """Return what is raised where there is no room."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Stands between a run and its disk, which is full after so many writes.

    Args:
        room: writes that still fit; the next one is cut in half where it can be (-1: none at all).
        fault: makes what all others raise.
    """

    def __init__(self, room: int, fault: Callable[[], BaseException] = full) -> None:
        self.writes, self.fault, self._room = 0, fault, room
        self._write, self._open = os.write, io.open

    @contextmanager
    def installed(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", self.write)
            patch.setattr(io, "open", self.open)
            yield

    def claim(self) -> bool:
        """Count a write; return whether all of it fits, and raise if nothing of it does."""
        self.writes += 1
        if self.writes > self._room + 1:
            raise self.fault()
        return self.writes <= self._room

    def write(self, descriptor: int, data: Any) -> int:
        fits = self.claim()
        return self._write(descriptor, data if fits else data[: len(data) // 2])

    def open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        opened = self._open(file, mode, *args, **options)
        return opened if WRITING.isdisjoint(mode) else File(opened, self)


class File:
    """A file open for writing."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: Any) -> int:
        if not self._disk.claim():
            self._file.write(data[: len(data) // 2])
            raise self._disk.fault()
        return int(self._file.write(data))


class Volatile:
    """A disk that forgets at a power failure what was not synced.

    Names (of files made, renamed and removed) are kept in the order in which they changed, up to
    the last sync of any file or further, as journalling file systems do.  Of a file's bytes what
    was synced is kept, and of those behind any part, or zeros in their stead.

    Args:
        folder: whose files are on it.
        aside: an empty folder on the same real disk.
        fails: is called with the number of each thing that is done to the disk, from 0, before it
            is done.
    """

    def __init__(self, folder: Path, aside: Path, fails: Callable[[int], None]) -> None:
        self._folder, self._aside, self._fails = folder, aside, fails
        self._synced: dict[int, int] = {}
        self._names: list[dict[str, int]] = [{}]
        self._sure = 0
        self._done = count()

    @contextmanager
    def installed(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("replace", "unlink", "open"):
                patch.setattr(os, name, self._naming(getattr(os, name)))
            patch.setattr(io, "open", self._naming(io.open))
            patch.setattr(os, "fsync", self._syncing(os.fsync))
            yield

    def after_a_failure(self, to: Path, rng: np.random.Generator) -> None:
        """Write what a failure now would leave into the new folder `to`."""
        to.mkdir()
        names = self._names[rng.integers(self._sure, len(self._names))]
        for name, inode in names.items():
            data = (self._aside / f"{inode}").read_bytes()
            kept = int(rng.integers(min(self._synced.get(inode, 0), len(data)), len(data) + 1))
            lost = b"\0" * (len(data) - kept) if rng.random() < 0.3 else b""
            (to / name).parent.mkdir(exist_ok=True)
            (to / name).write_bytes(data[:kept] + lost)

    def _naming(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def done(path: Any, *args: Any, **options: Any) -> Any:
            ours = isinstance(path, str | Path) and Path(path).is_relative_to(self._folder)
            if ours:
                self._fails(next(self._done))
            result = call(path, *args, **options)
            if ours:
                self._note()
            return result

        return done

    def _syncing(self, call: Callable[[int], None]) -> Callable[[int], None]:
        def done(descriptor: int) -> None:
            self._fails(next(self._done))
            call(descriptor)
            stat = os.fstat(descriptor)
            self._synced[stat.st_ino] = stat.st_size
            self._sure = len(self._names) - 1

        return done

    def _note(self) -> None:
        """Keep which files there are; a second name keeps their bytes whatever becomes of them."""
        names: dict[str, int] = {}
        for path in self._folder.rglob("*"):
            if path.is_file():
                inode = names[str(path.relative_to(self._folder))] = path.stat().st_ino
                if not (kept := self._aside / f"{inode}").exists():
                    os.link(path, kept)
        if names != self._names[-1]:
            self._names.append(names)


def die_writing(name: str, nth: int) -> None:
    """Let this process be killed half-way through its `nth` write of a file called `name`."""
    opened, left = io.open, count(1)

    class Torn(File):
        def write(self, data: Any) -> int:
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError

    def open_(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        stream = opened(file, mode, *args, **options)
        fits = not WRITING.isdisjoint(mode) and Path(file).name == name
        return Torn(stream, Disk(0)) if fits and next(left) == nth else stream

    io.open = open_
