"""TensorBoard: curves of rounds and of virtual time."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from simfl.components.trackers.base import Record, Step, TrackedRun, Tracker, trackers


@trackers.register("tensorboard")
class TensorBoard(Tracker):
    """Event files: ``tensorboard --logdir runs/NAME/tensorboard``; "relative" is virtual time."""

    package: ClassVar[str] = "tensorboard"

    folder: str = Field("tensorboard", description="within the folder of the scenario's runs")

    @field_validator("folder")
    @classmethod
    def _is_its_own(cls, value: str) -> str:
        """What is there of a run is replaced, which must not be the run itself, or another's."""
        path = Path(value)
        if path.is_absolute() or not path.parts or ".." in path.parts:
            raise ValueError("must name a folder within that of the runs, such as 'tensorboard'")
        return value

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
