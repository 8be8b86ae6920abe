"""MLflow, in files on this machine: ``mlflow ui`` shows them."""

import os
from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.trackers.base import TrackedRun, Tracker, trackers
from simfl.core.extras import extra

LONGEST = 500
"""Characters of a parameter's value that MLflow takes."""


@trackers.register("mlflow")
class MLflow(Tracker):
    """A run each in ``runs/NAME/mlflow``; timestamps are virtual time, parameters the scenario."""

    package: ClassVar[str] = "mlflow"

    uri: str | None = Field(
        None, description="of another store, such as sqlite:///all.db; omitted: runs/NAME/mlflow"
    )
    experiment: str | None = Field(None, description="omitted: the scenario's name")

    @override
    def record(self, run: TrackedRun) -> None:
        mlflow = extra("mlflow", self.name, f"tracker {self.name!r}")
        entities = extra("mlflow.entities", self.name, f"tracker {self.name!r}")
        # Without a server its newer versions want a database, which the small package can't open.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        client = mlflow.MlflowClient(self.uri or (run.top / "mlflow").resolve().as_uri())
        name = self.experiment or run.scenario
        known = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if known is None else known.experiment_id
        record = client.create_run(experiment, start_time=0, run_name=run.title).info.run_id
        metrics = [
            entities.Metric(key, value, round(1000 * step.time_s), step.round)
            for step in run.steps
            for key, value in step.numbers.items()
        ]
        last = run.steps[-1] if run.steps else None
        end_ms = round(1000 * last.time_s) if last else 0
        metrics += [entities.Metric(key, value, end_ms, 0) for key, value in run.totals.items()]
        params = [
            entities.Param(key.replace("[", ".").replace("]", ""), str(value)[:LONGEST])
            for key, value in run.options.items()
        ]
        for first in range(0, len(params), 100):  # as many as it takes at once
            client.log_batch(record, params=params[first : first + 100])
        for first in range(0, len(metrics), 1000):
            client.log_batch(record, metrics=metrics[first : first + 1000])
        client.set_tag(record, "variant", run.variant)
        client.set_tag(record, "seed", str(run.seed))
        client.set_terminated(record, end_time=end_ms)
