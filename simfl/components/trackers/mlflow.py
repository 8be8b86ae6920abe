"""MLflow, in files on this machine: ``mlflow ui`` shows them."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.trackers.base import Record, Step, TrackedRun, Tracker, trackers
from simfl.core.extras import extra

LONGEST = 500
"""Characters of a parameter's value that MLflow takes."""
FOLDER = "simfl.folder"
"""The tag that says which folder's run a record is of."""


@trackers.register("mlflow")
class MLflow(Tracker):
    """A run each in ``runs/NAME/mlflow``; timestamps are virtual time, parameters the scenario."""

    package: ClassVar[str] = "mlflow"

    uri: str | None = Field(
        None, description="of another store, such as sqlite:///all.db; omitted: runs/NAME/mlflow"
    )
    experiment: str | None = Field(None, description="omitted: the scenario's name")

    @override
    def begin(self, run: TrackedRun) -> Record:
        mlflow = extra("mlflow", self.name, f"tracker {self.name!r}")
        # Without a server its newer versions want a database, which the small package can't open.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        client = mlflow.MlflowClient(self.uri or (run.top / "mlflow").resolve().as_uri())
        name, folder = self.experiment or run.scenario, str(run.top / run.place)
        known = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if known is None else known.experiment_id
        for other in client.search_runs([experiment]):
            if other.info.status != "FINISHED" and other.data.tags.get(FOLDER) == folder:
                client.delete_run(other.info.run_id)
        tags = {FOLDER: folder, "variant": run.variant, "seed": str(run.seed)}
        record = client.create_run(experiment, start_time=0, run_name=run.title, tags=tags)
        self._keep_options(client, record.info.run_id, run.options)
        return _Metrics(client, record.info.run_id)

    def _keep_options(self, client: Any, record: str, options: Mapping[str, Any]) -> None:
        entities = extra("mlflow.entities", self.name, f"tracker {self.name!r}")
        params = [
            entities.Param(key.replace("[", ".").replace("]", ""), str(value)[:LONGEST])
            for key, value in options.items()
        ]
        for first in range(0, len(params), 100):  # as many as it takes at once
            client.log_batch(record, params=params[first : first + 100])


class _Metrics(Record):
    def __init__(self, client: Any, record: str) -> None:
        self._client, self._record = client, record
        self._end_ms, self._rounds = 0.0, 0

    @override
    def add(self, steps: Sequence[Step]) -> None:
        self._keep([m for s in steps for m in _metrics(s.numbers, 1000 * s.time_s, s.round)])
        self._end_ms, self._rounds = 1000 * steps[-1].time_s, steps[-1].round

    @override
    def end(self, totals: Mapping[str, float] | None) -> None:
        self._keep(_metrics(totals or {}, self._end_ms, self._rounds))
        status = "KILLED" if totals is None else "FINISHED"
        self._client.set_terminated(self._record, status, round(self._end_ms))

    def _keep(self, metrics: Sequence[Any]) -> None:
        for first in range(0, len(metrics), 1000):
            self._client.log_batch(self._record, metrics=metrics[first : first + 1000])


def _metrics(numbers: Mapping[str, float], time_ms: float, step: int) -> list[Any]:
    from mlflow.entities import Metric

    return [Metric(key, value, round(time_ms), step) for key, value in numbers.items()]
