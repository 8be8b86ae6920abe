"""Downloads: resumed where they were cut off, checked, and put in place whole or not at all."""

import errno
import fcntl
import hashlib
import logging
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

from simfl.core.downloads.origins import ORIGINS, Download, Origin
from simfl.core.files import failure
from simfl.core.words import few
from simfl.errors import InputError, NameNotFound, RunError

_LOG = logging.getLogger(__name__)

CHUNK = 1 << 16
TIMEOUT_S = 30
MOST = 7
"""Files that a message names."""

Tell = Callable[[str, int, int], None]
"""Is told a URL, how many bytes of it are there, and of how many."""


def fetch(name: str, folder: Path, tell: Tell | None = None) -> list[Path]:
    """Make sure that the files of a data set or trace are in `folder`; return them.

    What is there already is left alone.

    Args:
        name: as in `ORIGINS`.
        folder: is made if need be, and kept if something came.
        tell: is told how far it is.

    Raises:
        InputError: there is no such thing, it can't be downloaded, or what came is not what was
            expected.
        RunError: the disk is full.
    """
    if name not in ORIGINS:
        raise NameNotFound("data set or trace", name, ORIGINS)
    origin = ORIGINS[name]
    missing = origin.missing(folder)
    if missing and not origin.downloads:
        raise InputError(f"{name} can't be downloaded: {origin.by_hand} ({origin.home})")
    try:
        with _alone(folder) if missing else nullcontext():
            missing = origin.missing(folder)
            for download in origin.downloads:
                if wanted := [file for file in download.makes if file in missing]:
                    _make(download, folder, wanted, tell)
    except (OSError, HTTPException) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        kind = RunError if full else InputError
        raise kind(_complaint(name, origin, folder, error)) from error
    return [folder / file for file in origin.files]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process downloads into `folder`, which is made if need be.

    Raises:
        InputError: it can't be.
    """
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise failure(f"can't write into {folder}", error) from error
        with _locked(folder):
            yield
    finally:
        with suppress(OSError):  # something came
            for place in new:
                place.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _LOG.warning("another process downloads into %s: waiting for it", folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # this file system has no locks
            pass
        yield
    finally:
        os.close(descriptor)


def _complaint(name: str, origin: Origin, folder: Path, error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    files = few(origin.missing(folder), MOST)
    return (
        f"{name} could not be downloaded into {folder} ({reason}); the same command goes on where "
        f"it stopped. Without a network, put {files} there ({origin.home})"
    )


def _make(download: Download, folder: Path, wanted: list[str], tell: Tell | None) -> None:
    partial = folder / f".{download.url.rpartition('/')[2]}.partial"
    _get(download, partial, tell)
    with partial.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != download.sha256:
        partial.unlink()
        raise InputError(
            f"{download.url} is not what it was: its SHA-256 is {digest}, expected "
            f"{download.sha256}; nothing was kept"
        )
    for name in wanted:
        download.unpack(partial, folder / name)
    partial.unlink()


def _get(download: Download, partial: Path, tell: Tell | None) -> None:
    """Download to the file `partial`, going on after what it holds already."""
    have = partial.stat().st_size if partial.exists() else 0
    if have > download.bytes:
        partial.unlink()
        have = 0
    while have < download.bytes:
        headers = {"User-Agent": "simfl"} | ({"Range": f"bytes={have}-"} if have else {})
        request = urllib.request.Request(download.url, headers=headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            if have and reply.status != HTTPStatus.PARTIAL_CONTENT:
                have = 0  # the server begins again
            before = have
            with partial.open("ab" if have else "wb") as file:
                while have <= download.bytes and (chunk := reply.read(CHUNK)):
                    file.write(chunk)
                    have += len(chunk)
                    if tell is not None:
                        tell(download.url, have, download.bytes)
        if have == before:
            raise urllib.error.URLError(f"it ended after {have} of {download.bytes} bytes")
