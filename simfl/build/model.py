"""A scenario's model as a run has it: where it begins, how it is judged, how it is kept."""

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from simfl.build.model_facts import ModelFacts
from simfl.components.datasets.clients import Samples
from simfl.core.blame import blaming, blaming_code_of
from simfl.core.evaluation import Evaluation
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.types import Params
from simfl.scenario.checks import refusal, set_weights
from simfl.scenario.incompatible_parts import Objection
from simfl.scenario.scenario import Scenario
from simfl.training.executors.base import Executor

if TYPE_CHECKING:
    from simfl.training.personal import PersonalPart
    from simfl.training.task import Task


def initial_model(scenario: Scenario, seeds: Seeds) -> "tuple[Params, Params, PersonalPart | None]":
    """Return the parameters that the run begins with.

    Returns:
        `(p,)` those that are trained and sent, `(f,)` those that are frozen, and those of which
        each device trains its own (None: there are none).

    Raises:
        ScenarioError: the scenario names a file for them, which does not hold them.
    """
    from simfl.training.flat import build, flatten
    from simfl.training.personal import PersonalPart

    module = build(scenario.model, *scenario.inputs_and_outputs(), seeds.number("init"))
    if problems := set_weights(scenario, module):
        raise refusal(scenario, problems)
    trained, frozen = flatten(module), flatten(module, frozen=True)
    if not scenario.model.personal:
        return trained, frozen, None
    part = PersonalPart.of(module, scenario.model)
    return part.shared_of(trained), frozen, part


def judge(
    executor: Executor, samples: Samples, facts: ModelFacts, scenario: Scenario, seeds: Seeds
) -> Callable[[Params], Evaluation]:
    """Return what judges models of `scenario` on `samples`.

    Args:
        executor: computes; already started.
        samples: what models are judged on.
        facts: of the model.
        scenario: whose.
        seeds: mix the samples where the batches they are judged in count.

    Raises:
        ScenarioError: there are none, or they are tokens and the model takes none, or the reverse.
    """
    import torch

    require_fit(samples, facts, scenario)
    if facts.batch_norm:  # files are often sorted by class
        order = seeds.stream("judged").permutation(len(samples))
        samples = Samples(samples.x[order], samples.y[order])
    x, y, task = torch.from_numpy(samples.x), torch.from_numpy(samples.y), executor.task

    def evaluate(params: Params) -> Evaluation:
        with blaming_code_of((task.model, task.training.loss), "judging the model"):
            quality = executor.evaluate(task, params, x, y)
        with blaming(task.training.loss, "judging the model"):
            sound = quality.accuracy is None or 0 <= quality.accuracy <= 1
            expect(sound, "hits from 0 to 1", f"an accuracy of {quality.accuracy}")
        return quality

    return evaluate


def require_fit(samples: Samples, facts: ModelFacts, scenario: Scenario) -> None:
    """Refuse samples to judge models on that there are none of, or that do not suit the model.

    Raises:
        ScenarioError: they do not; says where that was decided.
    """
    if problems := [*_unfit(samples, facts, scenario)]:
        raise refusal(scenario, problems)


def _unfit(samples: Samples, facts: ModelFacts, scenario: Scenario) -> Iterator[Objection]:
    """Yield why the model can't be judged on these samples, and where that was decided."""
    dataset = f"data set {scenario.data.dataset.name!r}"
    if not len(samples):
        yield (
            ("data", "dataset"),
            f"{dataset} leaves no test samples to evaluate the model on; to do so on training "
            "samples give `evaluation: {on: train}`",
        )
    elif facts.takes_tokens != (tokens := np.issubdtype(samples.x.dtype, np.integer)):
        if tokens and _reads_tokens(scenario):  # it makes whole numbers of whatever it is given
            return
        takes = "tokens, not measurements" if facts.takes_tokens else "no tokens"
        yield (
            ("model",),
            f"model {scenario.model.name!r} takes {takes}, so it can't be trained on {dataset}",
        )


def _reads_tokens(scenario: Scenario) -> bool:
    """Whether a model that takes measurements looks tokens up as well, as by ``x.long()``."""
    from simfl.training.flat import build
    from simfl.training.tokens import reads_tokens

    shape, classes = scenario.inputs_and_outputs()
    return reads_tokens(build(scenario.model, shape, classes), shape)


def model_file(task: "Task", part: "PersonalPart | None", params: Params) -> bytes:
    """Return a file with the model `params` `(p,)` of a `task`, as PyTorch keeps it.

    Args:
        task: the task.
        part: what of it is personal, which is in the file as it began (None: nothing is).
        params: the rest of it.
    """
    import torch

    from simfl.training.model_file import state_dict
    from simfl.training.task import module_of

    if part is not None:
        params = part.joined(params, part.initial)
    buffer = io.BytesIO()
    torch.save(state_dict(module_of(task), params), buffer)
    return buffer.getvalue()
