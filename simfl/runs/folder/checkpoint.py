"""Checkpoints: what resuming can't replay, saved whole between two rounds.

A file is the SHA-256 of its rest, and the rest is what PyTorch makes of a state of arrays, numbers,
text and containers, with the name of the run that it belongs to.  The last two are kept.
"""

import contextlib
import io
import logging
import time
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from simfl.core.files import write_output
from simfl.errors import InputError, RunError
from simfl.runs.folder.folder import CHECKPOINT, PROVENANCE, SCENARIO
from simfl.runs.folder.json_files import read_json

FILE, PREVIOUS = "state.pt", "previous.pt"
_DIGEST_BYTES = sha256().digest_size
_LOG = logging.getLogger(__name__)


class Checkpoints:
    """Saves a state between rounds, often enough to lose little and seldom enough to cost little.

    Args:
        folder: the run's folder.
        state: returns what to save.
        every_s: host seconds between saves, at least; unless it is zero, saving takes 2% of the
            time at most.

    Raises:
        InputError: something else is where they belong.
    """

    def __init__(
        self, folder: Path, state: Callable[[], Mapping[str, Any]], every_s: float
    ) -> None:
        _refuse_what_is_in_the_way(folder / CHECKPOINT)
        self._folder = folder
        self._run = run_name(folder)
        self._state = state
        self._every_s = every_s
        self._due = time.monotonic() + every_s
        _to_tensors(state(), "state")  # what can't be kept is told before anything is computed

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() >= self._due

    def save(self, events: int) -> None:
        """Save the state; `events` is the length of the log that it belongs to."""
        began = time.monotonic()
        state = {"run": self._run, "events": events, "coordinator": self._state()}
        save(self._folder / CHECKPOINT, state)
        ended = time.monotonic()
        self._due = ended + (max(self._every_s, 50 * (ended - began)) if self._every_s else 0.0)


def _refuse_what_is_in_the_way(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file where the folder of checkpoints belongs; remove it")
    for path in (folder / FILE, folder / PREVIOUS):
        if path.is_dir():
            raise InputError(f"{path} is a folder where a checkpoint belongs; remove it")


def run_name(folder: Path) -> dict[str, Any]:
    """Return what tells the run in `folder` from others whose state it must not take over.

    Raises:
        InputError: the folder can't be read.
    """
    provenance = read_json(folder / PROVENANCE)
    return {
        "variant": provenance["variant"],
        "seed": provenance["seed"],
        "scenario": sha256((folder / SCENARIO).read_bytes()).hexdigest(),
        "simfl": _version(),
    }


@cache
def _version() -> str:
    """Return simfl's version: looking it up takes longer than the rest of a run's name."""
    from importlib.metadata import version

    return version("simfl")


def save(folder: Path, state: Mapping[str, Any]) -> None:
    """Write a state into the checkpoint `folder`, whole or not at all, and keep the one before it.

    Raises:
        RunError: it holds what could not be read again; or the disk is full.
    """
    import torch

    buffer = io.BytesIO()
    torch.save(_to_tensors(dict(state), "state"), buffer)
    data = buffer.getvalue()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:  # its run's folder may be gone
        raise RunError(f"can't write {folder}: {error.strerror}") from error
    if (folder / FILE).exists():
        (folder / FILE).replace(folder / PREVIOUS)
    write_output(folder / FILE, sha256(data).digest() + data)


def load(folder: Path, recorded: int) -> dict[str, Any] | None:
    """Return the last sound state of the run in `folder`; None: there is none, start over.

    A state that can't be used is told of in the log, at level WARNING.

    Args:
        folder: the run's folder.
        recorded: events in its log.
    """
    run = run_name(folder)
    for name in (FILE, PREVIOUS):
        path = folder / CHECKPOINT / name
        if not path.exists():
            continue
        try:
            state = _read(path)
            _check(state, run, recorded)
        except Exception as error:
            _LOG.warning("%s is not used, and the run goes on from further back: %s", path, error)
        else:
            return state
    return None


def inherit(source: Path, folder: Path, events: int) -> None:
    """Take over the last sound state of the run in `source` that is of its first `events`."""
    for name in (FILE, PREVIOUS):
        with contextlib.suppress(OSError, RuntimeError, ValueError, LookupError, RunError):
            state = _read(source / CHECKPOINT / name)
            _check(state, run_name(source), events)
            save(folder / CHECKPOINT, {**state, "run": run_name(folder)})
            return


def _read(path: Path) -> dict[str, Any]:
    import torch

    data = path.read_bytes()
    digest, data = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if sha256(data).digest() != digest:
        raise RunError("it is damaged")
    # weights_only: a run folder from somebody else can't run code here.
    state: dict[str, Any] = _to_arrays(torch.load(io.BytesIO(data), weights_only=True))
    return state


def _check(state: Mapping[str, Any], run: Mapping[str, Any], recorded: int) -> None:
    for name, value in run.items():
        if state["run"].get(name) != value:
            raise RunError(f"it is of another run ({name} {state['run'].get(name)}, not {value})")
    # The machine went down between the two.
    if state["events"] > recorded:
        raise RunError(f"it is ahead of the log: {state['events']} events, {recorded} recorded")


def _to_tensors(value: Any, where: str) -> Any:
    """Return `value` as PyTorch keeps it.

    Args:
        value: what is to be kept.
        where: what messages call it.

    Raises:
        RunError: something in it can't be kept.
    """
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.require(value, requirements=["C", "W"]).reshape(value.shape))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {
            _to_tensors(key, f"{where}, key {key!r}"): _to_tensors(item, f"{where}, {key}")
            for key, item in value.items()
        }
    if type(value) in (list, tuple):
        return type(value)(_to_tensors(item, where) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise RunError(
        f"a checkpoint can't hold {where}, a {type(value).__name__}: what a component remembers "
        "(its `state_dict`) may be arrays, numbers, text, lists, tuples and dicts"
    )


def _to_arrays(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: _to_arrays(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_to_arrays(item) for item in value)
    return value
