"""Weights & Biases, offline: `wandb sync` sends what is wanted."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.trackers.base import Record, Step, TrackedRun, Tracker, trackers
from simfl.core.extras import extra

UNFINISHED = "simfl-unfinished.txt"
"""The file that says of which run a record is, until it is whole."""


@trackers.register("wandb")
class WandB(Tracker):
    """Offline runs below ``runs/NAME/wandb``; the configuration is the resolved scenario."""

    package: ClassVar[str] = "wandb"

    project: str | None = Field(None, description="omitted: the scenario's name")

    @override
    def begin(self, run: TrackedRun) -> Record:
        wandb = extra("wandb", self.name, f"tracker {self.name!r}")
        for mark in (run.top / "wandb").glob(f"offline-run-*/{UNFINISHED}"):
            if mark.read_text(encoding="utf-8") == str(run.place):
                shutil.rmtree(mark.parent)
        record = wandb.init(
            mode="offline",
            dir=str(run.top),
            project=self.project or run.scenario,
            group=run.variant,
            name=run.title,
            config=dict(run.options),
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off"),
        )
        mark = Path(record.dir).parent / UNFINISHED
        mark.write_text(str(run.place), encoding="utf-8")
        return _OfflineRun(record, mark)


class _OfflineRun(Record):
    def __init__(self, record: Any, mark: Path) -> None:
        self._record, self._mark = record, mark

    @override
    def add(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._record.log({**step.numbers, "virtual_time_s": step.time_s}, step=step.round)

    @override
    def end(self, totals: Mapping[str, float] | None) -> None:
        if totals is not None:
            self._record.summary.update(dict(totals))
            self._mark.unlink()
        self._record.finish(exit_code=int(totals is None))
