"""TensorBoard: curves of rounds and of virtual time."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.trackers.base import Record, Step, TrackedRun, Tracker, trackers


@trackers.register("tensorboard")
class TensorBoard(Tracker):
    """Event files: ``tensorboard --logdir runs/NAME/tensorboard``; "relative" is virtual time."""

    package: ClassVar[str] = "tensorboard"

    folder: str = Field("tensorboard", description="within the folder of the scenario's runs")

    @override
    def begin(self, run: TrackedRun) -> Record:
        place = run.top / self.folder / run.place
        shutil.rmtree(place, ignore_errors=True)
        return _EventFile(place)


class _EventFile(Record):
    def __init__(self, place: Path) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(place))

    @override
    def add(self, steps: Sequence[Step]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        for step in steps:
            values = [Summary.Value(tag=k, simple_value=v) for k, v in step.numbers.items()]
            self._writer.add_event(
                Event(wall_time=step.time_s, step=step.round, summary=Summary(value=values))
            )
        self._writer.flush()

    @override
    def end(self, totals: Mapping[str, float] | None) -> None:
        self._writer.close()
