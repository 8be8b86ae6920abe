"""How well a run's final model serves each client: what `simfl evaluate` does."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simfl.build.builder import Builder
from simfl.build.clients_judge import judged
from simfl.components.datasets.clients import OnDemand
from simfl.coordinators.base import MODEL, PERSONAL
from simfl.core.evaluation import Evaluation
from simfl.core.files import failure
from simfl.core.machine.allocator import freed_memory_returned
from simfl.core.types import Floats, Params
from simfl.errors import InputError
from simfl.runs.evaluation.client_evaluation import ClientEvaluation
from simfl.runs.evaluation.fine_tune import FineTuning, alone, fine_tuned
from simfl.runs.folder.stages import stages
from simfl.runs.inputs import changed
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.runs.run import builder_of

if TYPE_CHECKING:
    import pandas as pd

    from simfl.training.task import Task

_LOG = logging.getLogger(__name__)


def evaluate(
    run: RunResult, options: Options | None = None, fine_tune: int = 0
) -> ClientEvaluation:
    """Return how well the final model of `run` serves each client that holds samples.

    Args:
        run: finished; nothing in its folder is changed.
        options: where the data lie, and where clients fine-tune; for the rest it is computed here,
            by one process.
        fine_tune: passes over its own samples by which each client fine-tunes the model, which is
            then judged again; who keeps no samples aside for that is left out (0: nobody does).

    Raises:
        InputError: the run has not finished or trained nothing, its model is missing or damaged,
            nobody keeps samples aside on which a model that was fine-tuned could be judged, or
            `fine_tune` is no number of epochs.
    """
    if isinstance(fine_tune, bool) or not isinstance(fine_tune, Integral) or fine_tune < 0:
        raise InputError(f"fine_tune must be a whole number from 0 on, but got {fine_tune!r}")
    _ = run.summary  # which tells how to go on with a run that has not finished
    if run.time_only:
        raise InputError(f"{run.folder} simulated time alone: there is no model to evaluate")
    (_, first), *later = stages(run.folder)
    if names := changed(run.provenance, later[-1][1] if later else first):
        _LOG.warning("%s: changed since it ran: %s", run.folder, ", ".join(names))
    options = Options() if options is None else options
    if not fine_tune:
        options = Options(executor="inline", data_dir=options.data_dir)
    with freed_memory_returned(), closing(options.make_executor()) as executor:
        builder = builder_of(first, options, executor)
        if later:  # it had the same data, and is judged by what was in force at its end
            builder = builder.under(later[-1][1])
        how = _fine_tuning(builder, run, fine_tune) if fine_tune else None
        model, own, frozen = _model(run.folder, builder.task)
        task, data = replace(builder.task, frozen=frozen), builder.federation
        executor.start(task if how is None else alone(task))
        clients = np.flatnonzero(data.sizes if how is None else data.validation_sizes).tolist()
        models: list[Iterator[tuple[int, Params]]] = [
            ((client, own.get(client, model)) for client in clients)
        ]
        if how is not None:
            models.append(fine_tuned(executor, model, own, clients, how, builder.seeds))
        qualities = [
            {client: (samples, quality) for client, samples, quality in judged(executor, data, of)}
            for of in models
        ]
    table = _table(run, data.names, *qualities)
    return ClientEvaluation(run, table, bool(data.validation_sizes.any()), how)


def _fine_tuning(builder: Builder, run: RunResult, epochs: int) -> FineTuning:
    """Return how clients fine-tune the final model of `run`.

    Raises:
        InputError: nobody keeps samples aside.
    """
    data, round_ = builder.federation, run.n_rounds + 1
    aside = int((data.validation_sizes > 0).sum())
    if not aside:
        given = builder.scenario.data
        if isinstance(data, OnDemand):
            none = f"data set {given.dataset.name!r} keeps none aside"
        else:
            share = "a larger share" if given.local_validation else "a share"
            none = f"nobody keeps any aside; run it with {share} in `data.local_validation`"
        raise InputError(
            f"{run.folder}: a fine-tuned model is judged on samples of a client that it did not "
            f"train on, and {none}"
        )
    rate = builder.scenario.training.local().rate(round_)
    return FineTuning(epochs, round_, rate, int((data.sizes > 0).sum()) - aside)


def _model(folder: Path, task: "Task") -> tuple[Params, Mapping[int, Params], Params]:
    """Return the model in a run's folder.

    Returns:
        `(p,)` what was trained; the same of each client that has parameters of its own; and `(f,)`
        what was frozen.

    Raises:
        InputError: it is missing, damaged, or may not be read.
    """
    from simfl.training.flat import build, flatten
    from simfl.training.model_file import read_model
    from simfl.training.personal import OwnModels, PersonalPart
    from simfl.training.personal_file import read_personal

    module = build(task.model, task.shape, task.classes)
    with _telling_of(folder / MODEL):
        read_model(folder / MODEL, module)
    model = flatten(module)
    own: Mapping[int, Params] = {}
    if task.model.personal:
        part = PersonalPart.of(module, task.model)
        with _telling_of(folder / PERSONAL):
            own = OwnModels(part, model, read_personal(folder / PERSONAL, part))
    return model, own, flatten(module, frozen=True)


@contextmanager
def _telling_of(path: Path) -> Iterator[None]:
    """Tell of errors in reading the file at `path` which it is."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except OSError as error:
        raise failure(f"can't read {path}", error) from error
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from error


def _table(
    run: RunResult,
    called: NDArray[np.str_] | None,
    before: Mapping[int, tuple[int, Evaluation]],
    tuned: Mapping[int, tuple[int, Evaluation]] | None = None,
) -> "pd.DataFrame":
    """Return a row per client: how good the model is for it, and its fine-tuned one.

    Args:
        run: the run.
        called: `(devices,)` what the data set calls each (None: nothing).
        before: by client, on how many samples and how good the model is.
        tuned: its fine-tuned one likewise.
    """
    import pandas as pd

    names, firsts = zip(*run.groups, strict=True)
    clients = np.array(list(before))
    counted = np.full(run.devices, -1) if run.log == "none" else run.participations
    columns: dict[str, Any] = {
        "client": clients,
        **({} if called is None else {"name": called[clients].tolist()}),
        "group": [names[place - 1] for place in np.searchsorted(firsts, clients, side="right")],
        "participations": counted[clients],
        "samples": [samples for samples, _ in before.values()],
        **_columns([quality for _, quality in before.values()]),
    }
    if tuned is not None:
        columns |= _columns([tuned[client][1] for client in before], "fine_tuned_")
    return pd.DataFrame(columns)


def _columns(qualities: Sequence[Evaluation], prefix: str = "") -> dict[str, Floats]:
    """Return columns of `(clients,)` of how good models are."""
    columns = {
        "accuracy": [quality.accuracy for quality in qualities],
        "loss": [quality.loss for quality in qualities],
        **{label: [q.metrics[label] for q in qualities] for label in qualities[0].metrics},
    }
    return {f"{prefix}{name}": np.array(of, dtype=np.float64) for name, of in columns.items()}
