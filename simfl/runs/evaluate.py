"""How well a run's final model serves each client: what `simfl evaluate` does."""

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simfl.build.builder import Builder
from simfl.coordinators.base import MODEL
from simfl.core.blame import blaming_code_of
from simfl.core.evaluation import Evaluation
from simfl.core.files import failure
from simfl.core.types import Flags, Floats, Params
from simfl.errors import InputError
from simfl.runs.folder.eventlog import finite
from simfl.runs.folder.stages import stages
from simfl.runs.inputs import changed
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.runs.run import builder_of

if TYPE_CHECKING:
    import pandas as pd

    from simfl.training.task import Task

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Spread:
    """How well some clients are served; unless said otherwise each counts alike.

    Attributes:
        whom: they are.
        clients: how many.
        mean: of their accuracies, or of their losses where the loss knows no right answers.
        pooled: over all their samples, each counting alike: clients with many count for more.
        std: the standard deviation over clients.
        worst_tenth: the mean over the tenth of them (one at least) that is served worst.
        best_tenth: and best.
    """

    whom: str
    clients: int
    mean: float
    pooled: float
    std: float
    worst_tenth: float
    best_tenth: float


@dataclass(frozen=True, eq=False)
class ClientEvaluation:
    """How well the final model of a run serves its clients.

    Attributes:
        run: the run.
        clients: a row per client that holds samples: `client`, `group`, `participations` (updates
            of it that counted; -1: not recorded), `samples` it was judged on, `accuracy` (NaN: the
            loss knows no right answers), `loss`, and a column for each of the scenario's metrics.
        kept_aside: whether clients were judged on samples that they keep aside
            (``data.local_validation``); else, and who has too few for that, on those they train on.
    """

    run: RunResult
    clients: "pd.DataFrame"
    kept_aside: bool

    @property
    def measure(self) -> str:
        """What tells how well a client is served: `accuracy`, or `loss` where there is none."""
        return "loss" if self.clients["accuracy"].isna().all() else "accuracy"

    @property
    def spreads(self) -> list[Spread]:
        """How well everybody is served, then each group, then those who were heard or never."""
        values = self.clients[self.measure].to_numpy(np.float64)
        samples = self.clients["samples"].to_numpy(np.float64)
        worst_first = -values if self.measure == "loss" else values
        order = np.argsort(worst_first, kind="stable")
        return [
            _spread(whom, values[order][who[order]], samples[order][who[order]])
            for whom, who in self._classes()
        ]

    def _classes(self) -> Iterator[tuple[str, Flags]]:
        groups = self.clients["group"].to_numpy()
        heard = self.clients["participations"].to_numpy()
        yield "everybody", np.ones(len(groups), dtype=np.bool_)
        names = [name for name, _ in self.run.groups if (groups == name).any()]
        for name in names if len(names) > 1 else ():
            yield name, groups == name
        if (heard > 0).any() and (heard == 0).any():
            yield "heard", heard > 0
            yield "never heard", heard == 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        plain: dict[str, Any] = finite(
            {
                "folder": str(self.run.folder),
                "kept_aside": self.kept_aside,
                "measure": self.measure,
                "spreads": [dict(vars(spread)) for spread in self.spreads],
                "clients": self.clients.to_dict("records"),
            }
        )
        return plain


def _spread(whom: str, values: Floats, samples: Floats) -> Spread:
    """Return how well clients are served that are given worst first."""
    tenth = math.ceil(len(values) / 10)
    with np.errstate(invalid="ignore"):  # losses of a training that diverged have none
        std = float(values.std())
    return Spread(
        whom=whom,
        clients=len(values),
        mean=float(values.mean()),
        pooled=float(np.average(values, weights=samples)),
        std=std,
        worst_tenth=float(values[:tenth].mean()),
        best_tenth=float(values[-tenth:].mean()),
    )


def evaluate(run: RunResult, options: Options | None = None) -> ClientEvaluation:
    """Return how well the final model of `run` serves each client that holds samples.

    Args:
        run: finished; nothing in its folder is changed.
        options: where the data lie; for the rest it is computed here, by one process.

    Raises:
        InputError: the run has not finished or trained nothing, or its model is missing or damaged.
    """
    _ = run.summary  # which tells how to go on with a run that has not finished
    if run.time_only:
        raise InputError(f"{run.folder} simulated time alone: there is no model to evaluate")
    (_, first), *later = stages(run.folder)
    if names := changed(run.provenance, later[-1][1] if later else first):
        _LOG.warning("%s: changed since it ran: %s", run.folder, ", ".join(names))
    options = Options(executor="inline", data_dir=None if options is None else options.data_dir)
    with closing(options.make_executor()) as executor:
        builder = builder_of(first, options, executor)
        if later:  # it had the same data, and is judged by what was in force at its end
            builder = builder.under(later[-1][1])
        model, frozen = _model(run.folder / MODEL, builder.task)
        executor.start(replace(builder.task, frozen=frozen))
        table = _table(run, _judged(builder, model))
    return ClientEvaluation(run, table, bool(builder.federation.validation_sizes.any()))


def _model(path: Path, task: "Task") -> tuple[Params, Params]:
    """Return the model in a run's folder: `(p,)` what was trained, and `(f,)` what was frozen.

    Raises:
        InputError: it is missing, damaged, or may not be read.
    """
    from simfl.training.flat import build, flatten
    from simfl.training.model_file import read_model

    module = build(task.model, task.shape, task.classes)
    try:
        read_model(path, module)
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except OSError as error:
        raise failure(f"can't read {path}", error) from error
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from error
    return flatten(module), flatten(module, frozen=True)


def _judged(builder: Builder, model: Params) -> dict[int, tuple[int, Evaluation]]:
    """Return on how many samples each client was judged, and how good `model` is for it."""
    import torch

    executor, data = builder.executor, builder.federation
    task = executor.task
    judged = {}
    with blaming_code_of((task.model, task.training.loss), "judging the model"):
        for client in np.flatnonzero(data.sizes).tolist():
            own = data.validation([client])
            rows = torch.from_numpy(own.rows[0])
            quality = executor.evaluate(task, model, own.x[rows], own.y[rows])
            judged[client] = len(rows), quality
    return judged


def _table(run: RunResult, judged: Mapping[int, tuple[int, Evaluation]]) -> "pd.DataFrame":
    import pandas as pd

    names, firsts = zip(*run.groups, strict=True)
    clients = np.array(list(judged))
    counted = np.full(run.devices, -1) if run.log == "none" else run.participations
    columns: dict[str, Any] = {
        "client": clients,
        "group": [names[place - 1] for place in np.searchsorted(firsts, clients, side="right")],
        "participations": counted[clients],
        "samples": [samples for samples, _ in judged.values()],
    }
    qualities = [quality for _, quality in judged.values()]
    columns["accuracy"] = np.array([quality.accuracy for quality in qualities], dtype=np.float64)
    columns["loss"] = np.array([quality.loss for quality in qualities], dtype=np.float64)
    for label in qualities[0].metrics:
        numbers = [quality.metrics[label] for quality in qualities]
        columns[label] = np.array(numbers, dtype=np.float64)
    return pd.DataFrame(columns)
