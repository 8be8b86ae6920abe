"""How good models are for the clients, each judged on samples of its own."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from simfl.build.model import require_fit
from simfl.build.model_facts import ModelFacts
from simfl.components.datasets.clients import ClientData, Samples
from simfl.core.blame import blaming_code_of
from simfl.core.evaluation import Evaluation
from simfl.core.types import Ids, Params
from simfl.scenario.checks import refusal
from simfl.scenario.scenario import Scenario
from simfl.training.executors.base import Executor

OwnModel = Callable[[int, Params], Params]
"""Takes a client and the global model `(p,)`, and returns the client's own."""
DIGITS = 12
"""Decimals of a mean accuracy: it is held against shares as written."""


def judge_by_clients(
    executor: Executor,
    data: ClientData,
    facts: ModelFacts,
    scenario: Scenario,
    own_model: OwnModel | None = None,
) -> Callable[[Params], Evaluation]:
    """Return what judges models by what each client keeps aside; clients count alike.

    Args:
        executor: computes; already started.
        data: who keeps which samples aside.
        facts: of the model.
        scenario: whose.
        own_model: of a client (None: all have the global one).

    Raises:
        ScenarioError: nobody keeps a sample aside, or what is kept does not suit the model.
    """
    aside = np.flatnonzero(data.validation_sizes).tolist()
    if not aside:
        why = "nobody keeps any sample aside; a larger share would, or more samples for each"
        raise refusal(scenario, [(("data", "local_validation"), why)])
    kept = data.validation(aside[:1])
    rows = kept.rows[0]
    require_fit(Samples(kept.x[rows].numpy(), kept.y[rows].numpy()), facts, scenario)

    def evaluate(params: Params) -> Evaluation:
        models = (
            (client, params if own_model is None else own_model(client, params)) for client in aside
        )
        return mean_of([quality for _, _, quality in judged(executor, data, models)])

    return evaluate


def judged(
    executor: Executor, data: ClientData, models: Iterable[tuple[int, Params]]
) -> Iterator[tuple[int, int, Evaluation]]:
    """Yield clients, on how many samples each was judged, and how good its model is for it.

    That is on what it keeps aside, or, where it keeps none, on what it trains on.

    Args:
        executor: computes; already started.
        data: who holds which samples.
        models: of each client, `(p,)`.
    """
    import torch

    task = executor.task
    for client, model in models:
        with blaming_code_of((task.model, task.training.loss), "judging the model"):
            own = data.validation([client])
            rows = torch.from_numpy(own.rows[0])
            quality = executor.evaluate(task, model, own.x[rows], own.y[rows])
        yield client, len(rows), quality


def samples_worth(aside: Ids) -> int:
    """Return how many samples, alike, tell as much of an accuracy as a mean over clients does.

    What a client with few samples is judged at is little certain, and counts as much as any other:
    the variance of the mean over m clients is that of ``m**2 / sum(1 / aside)`` samples.

    Args:
        aside: `(clients,)` how many samples each keeps aside; who keeps none does not count.
    """
    kept = aside[aside > 0]
    return round(len(kept) ** 2 / float((1 / kept).sum())) if len(kept) else 0


def mean_of(qualities: Sequence[Evaluation]) -> Evaluation:
    """Return the mean of some evaluations, one at least; of metrics, of those that have a number.

    A metric is no number where not all losses are finite.
    """
    accuracies = [quality.accuracy for quality in qualities if quality.accuracy is not None]
    with np.errstate(invalid="ignore", over="ignore"):  # of a model that has diverged
        loss = float(np.mean([quality.loss for quality in qualities]))
    metrics: dict[str, float | None] = {}
    for label in qualities[0].metrics:
        numbers = [n for quality in qualities if (n := quality.metrics[label]) is not None]
        metrics[label] = float(np.mean(numbers)) if numbers and np.isfinite(loss) else None
    accuracy = round(float(np.mean(accuracies)), DIGITS) if accuracies else None
    return Evaluation(accuracy, loss, metrics)
