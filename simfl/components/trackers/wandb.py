"""Weights & Biases, offline: `wandb sync` sends what is wanted."""

from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.trackers.base import TrackedRun, Tracker, trackers
from simfl.core.extras import extra


@trackers.register("wandb")
class WandB(Tracker):
    """Offline runs below ``runs/NAME/wandb``; the configuration is the resolved scenario."""

    package: ClassVar[str] = "wandb"

    project: str | None = Field(None, description="omitted: the scenario's name")

    @override
    def record(self, run: TrackedRun) -> None:
        wandb = extra("wandb", self.name, f"tracker {self.name!r}")
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
        for step in run.steps:
            record.log({**step.numbers, "virtual_time_s": step.time_s}, step=step.round)
        record.summary.update(dict(run.totals))
        record.finish()
