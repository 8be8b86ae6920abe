"""Checkpoints: what resuming can't replay, saved whole between two rounds."""

import io
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simfl.errors import RunError
from simfl.runs.folder import CHECKPOINT, write_atomically

FILE = "state.pt"


class Checkpoints:
    """Saves a state between rounds, often enough to lose little and seldom enough to cost little.

    Args:
        folder: the run's folder.
        state: returns what to save.
        every_s: host seconds between saves, at least; unless it is zero, saving takes 2% of the
            time at most.
    """

    def __init__(
        self, folder: Path, state: Callable[[], Mapping[str, Any]], every_s: float = 5.0
    ) -> None:
        self._path = folder / CHECKPOINT / FILE
        self._state = state
        self._every_s = every_s
        self._due = time.monotonic() + every_s

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() >= self._due

    def save(self, events: int) -> None:
        """Save the state; `events` is the length of the log that it belongs to."""
        began = time.monotonic()
        save(self._path, {"events": events, **self._state()})
        ended = time.monotonic()
        self._due = ended + (max(self._every_s, 50 * (ended - began)) if self._every_s else 0.0)


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state of arrays, numbers, text and containers, whole or not at all.

    Raises:
        RunError: it holds something else, which could not be read again; or the disk is full.
    """
    import torch

    buffer = io.BytesIO()
    torch.save(_to_tensors(dict(state)), buffer)
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, buffer.getvalue())


def load(folder: Path) -> dict[str, Any] | None:
    """Return the last saved state of the run in `folder`, or None if there is none.

    Raises:
        RunError: the file is damaged.
    """
    import torch

    path = folder / CHECKPOINT / FILE
    if not path.exists():
        return None
    try:
        # weights_only: a run folder from somebody else can't run code here.
        state = torch.load(path, weights_only=True)
        found: dict[str, Any] = _to_arrays(state)
        found["events"], found["coordinator"]
    except Exception as error:
        raise RunError(
            f"{path} is damaged ({type(error).__name__}); delete it to go on from the beginning"
        ) from error
    return found


def _to_tensors(value: Any) -> Any:
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {_to_tensors(key): _to_tensors(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_to_tensors(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise RunError(
        f"a checkpoint can't hold a {type(value).__name__}: the `state_dict` of a selector or an "
        "aggregator consists of arrays, numbers, text, lists, tuples and dicts"
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
