"""How to run a scenario, as opposed to what it says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from simfl.core.arguments import require_kind
from simfl.errors import InputError
from simfl.runs.folder.recorder import KINDS
from simfl.scenario.problems import first_message
from simfl.training.executors.base import Executor, executors

LOGS = tuple(KINDS)
"""What may be recorded, the most first; see `Options`."""


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what: nothing here changes a result on the same kind of device.

    Attributes:
        executor: where to compute, by name.
        workers: of the executor (None: its own default).
        jobs: how many runs at once (None: with executor `auto` as many as there are cores and
            memory for, unless all is done in no time; else one after the other).
        device: torch device: cpu, cuda, or auto.
        time_only: run the clock without training.
        data_dir: where data sets lie (None: ``SIMFL_DATA``, else they are downloaded).
        executor_options: further options of the executor.
        checkpoint_every_s: host seconds between checkpoints, at least; only a full log has any.
        log: what is recorded: `full`; `rounds`: no event and row of a single participation is in
            the event log, tables are whole; `none`: no event and no row of `clients.csv`.
        compress_log: write ``events.jsonl.zst``; runs that are alike have the same lines in it, but
            its frames end with checkpoints, too, which host time decides.
    """

    executor: str = "auto"
    workers: int | None = None
    jobs: int | None = None
    device: str = "cpu"
    time_only: bool = False
    data_dir: Path | None = None
    executor_options: Mapping[str, Any] = field(default_factory=dict)
    checkpoint_every_s: float = 5.0
    log: Literal["full", "rounds", "none"] = "full"
    compress_log: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no log, no executor, no folder or no number, be it needed or not.

        Raises:
            InputError: it is none.
        """
        self._require_types()
        executors.get(self.executor)
        for name, number in (("workers", self.workers), ("jobs", self.jobs)):
            whole = isinstance(number, Integral) and not isinstance(number, bool)
            if number is not None and not (whole and number >= 1):
                raise InputError(f"{name} must be a whole number from 1 on, but got {number!r}")
        if not self.checkpoint_every_s >= 0:
            raise InputError(
                f"checkpoint_every_s must be at least 0 s, but got {self.checkpoint_every_s}"
            )
        if self.data_dir is not None:
            self.data_folder()
        if self.log not in LOGS:
            raise InputError(f"unknown log {self.log!r}; expected full, rounds or none")

    def _require_types(self) -> None:
        """Refuse what has not the type of its field: a text would be true, and be recorded so."""
        for name, kind, expected in (
            ("executor", str, "a name such as 'inline'"),
            ("device", str, "a name such as 'cpu'"),
            ("time_only", bool, "True or False"),
            ("compress_log", bool, "True or False"),
            ("checkpoint_every_s", Real, "seconds"),
            ("executor_options", Mapping, "a mapping such as {'workers': 2}"),
            ("data_dir", str | os.PathLike | None, "a folder such as 'data'"),
        ):
            value = getattr(self, name)
            require_kind(name, value, kind, expected)
            if isinstance(value, bool) and kind is Real:
                raise InputError(f"{name}: expected {expected}, got {value!r}")

    def data_folder(self) -> Path | None:
        """Return the data folder.

        Raises:
            InputError: it was named but is not there, or is a file.
        """
        named = self.data_dir or os.environ.get("SIMFL_DATA") or None
        if named is None:
            return None
        if not (folder := Path(named)).is_dir():
            wrong = "is a file" if folder.exists() else "does not exist"
            raise InputError(f"the data folder {named} {wrong}")
        return folder

    def torch_device(self) -> str:
        """Return the name of the torch device, `auto` decided.

        Raises:
            InputError: there is no such device here.
        """
        if self.device == "cpu":
            return "cpu"
        import torch

        if self.device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        kind, _, index = self.device.partition(":")
        if kind != "cuda" or (index and not index.isdecimal()):
            raise InputError(f"unknown device {self.device!r}; expected cpu, cuda or auto")
        # The nodes of a Ray cluster may have what this machine has not.
        if self.executor != "ray" and int(index or 0) >= torch.cuda.device_count():
            raise InputError(f"device {self.device!r} is not there: PyTorch sees no such GPU")
        return self.device

    def make_executor(self) -> Executor:
        """Return a new executor.

        Raises:
            InputError: it is unknown, or has no such options.
        """
        options = dict(self.executor_options)
        if self.workers is not None:
            options["workers"] = self.workers
        kind = executors.get(self.executor)
        if unknown := sorted(set(options) - set(kind.model_fields)):
            raise InputError(f"executor {self.executor!r} has no option {', '.join(unknown)}")
        try:
            return kind.model_validate(options)
        except ValidationError as error:
            name = error.errors()[0]["loc"][0]
            raise InputError(f"executor_options: {name}: {first_message(error)}") from None
