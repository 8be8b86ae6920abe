"""TensorBoard: curves of rounds and of virtual time."""

import shutil
from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.trackers.base import TrackedRun, Tracker, trackers


@trackers.register("tensorboard")
class TensorBoard(Tracker):
    """Event files: ``tensorboard --logdir runs/NAME/tensorboard``; "relative" is virtual time."""

    package: ClassVar[str] = "tensorboard"

    folder: str = Field("tensorboard", description="within the folder of the scenario's runs")

    @override
    def record(self, run: TrackedRun) -> None:
        """Write an event file, in place of what there is of the same run."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        place = run.top / self.folder / run.variant / f"seed-{run.seed}"
        shutil.rmtree(place, ignore_errors=True)
        writer = EventFileWriter(str(place))
        for step in run.steps:
            values = [Summary.Value(tag=k, simple_value=v) for k, v in step.numbers.items()]
            writer.add_event(
                Event(wall_time=step.time_s, step=step.round, summary=Summary(value=values))
            )
        writer.close()
