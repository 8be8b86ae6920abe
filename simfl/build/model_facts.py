"""What virtual time must know of a scenario's model, without training it."""

from dataclasses import dataclass

import numpy as np

from simfl.components.models import linear_layers
from simfl.core.blame import blaming
from simfl.core.machine.memory import is_out_of_memory, require_memory
from simfl.core.ownership import users_own
from simfl.core.work import FORWARD_UNITS
from simfl.errors import InputError
from simfl.scenario.checks import refusal
from simfl.scenario.scenario import Scenario
from simfl.training.compilable import is_compilable, linear_layers_fit

TRAINED_COPIES = 2
"""Vectors of a model's size that training takes at least: the model, and its gradient."""


@dataclass(frozen=True)
class ModelFacts:
    """What virtual time must know of a model.

    Attributes:
        parameters: p, those that are trained and sent.
        frozen: how many are not.
        tensors: sizes of the tensors that are sent, in the order of the flat vector.
        flops: FLOPs of training one sample.
        forward_units: share of them that a forward pass takes (none counted: `FORWARD_UNITS`).
        convex: whether it has no hidden layer.
        profile: width of FC-1 (0: it has none).
        takes_tokens: whether its inputs are whole numbers.
        compiled: whether a CPU trains it by the compiled kernel.
        stacked: whether PyTorch, where it has to, trains it for many clients at once.
        batch_norm: whether its outputs for a row depend on the rows beside it.
        personal: how many parameters each device trains for itself, and sends nobody.
    """

    parameters: int
    tensors: tuple[int, ...]
    flops: int
    forward_units: float
    convex: bool
    profile: int
    takes_tokens: bool
    compiled: bool
    stacked: bool
    batch_norm: bool = False
    frozen: int = 0
    personal: int = 0

    @property
    def all_parameters(self) -> int:
        """How many there are, whatever becomes of them."""
        return self.parameters + self.frozen + self.personal


def model_facts(scenario: Scenario, trains: bool = False) -> ModelFacts:
    """Return what virtual time must know of a scenario's model.

    Args:
        scenario: the scenario.
        trains: whether it is to be trained, too, for which there must be room.

    Raises:
        InputError: the model's own code raises.
        ScenarioError: it does not fit into memory.
    """
    key = _key(scenario)
    facts = _linear_facts(scenario) or (None if key is None else _measured.get(key))
    try:
        parameters = _parameters(scenario) if facts is None else facts.all_parameters
        copies, what = TRAINED_COPIES if trains else 1, f"model {scenario.model.name!r}"
        require_memory(4 * copies * parameters, f"{what} with {parameters:,} parameters")
    except InputError as error:
        raise refusal(scenario, [(("model",), str(error))]) from error
    if facts is None:
        with blaming(scenario.model, "being measured", told_as=InputError):
            facts = _model_facts(scenario)
        if key is not None:
            _measured[key] = facts
    return facts


def known_without_torch(scenario: Scenario) -> bool:
    """Return whether virtual time learns all of a scenario's model without PyTorch."""
    return _linear_facts(scenario) is not None and not _limits_memory(scenario)


_measured: dict[tuple[object, ...], ModelFacts] = {}
"""Of models that were measured before, by `_key`: all variants and seeds often share one."""


def _key(scenario: Scenario) -> tuple[object, ...] | None:
    """Return all that the facts of a model depend on (None: on its user's code)."""
    model = scenario.model
    if users_own([model]):
        return None
    options = model.model_dump_json()
    compilable = is_compilable(scenario.training.local())
    return type(model), options, *scenario.inputs_and_outputs(), compilable


def _linear_facts(scenario: Scenario) -> ModelFacts | None:
    """Return what is known of a model of linear layers (None: it has others, and is measured).

    Without PyTorch, to import which takes longer than all else that is done before the clock runs.
    """
    layers = linear_layers.layers_of(scenario.model, *scenario.inputs_and_outputs())
    if layers is None or scenario.model.personal:
        return None
    weights = [inputs * outputs for inputs, outputs in layers]
    biases = [outputs for _, outputs in layers]
    flops = linear_layers.training_flops(layers)
    return ModelFacts(
        parameters=sum(weights) + sum(biases),
        tensors=tuple(size for layer in zip(weights, biases, strict=True) for size in layer),
        flops=flops,
        forward_units=linear_layers.forward_flops(layers) / flops,
        convex=len(layers) == 1,
        profile=biases[0] if len(layers) > 1 else 0,
        takes_tokens=False,
        compiled=linear_layers_fit(weights) and is_compilable(scenario.training.local()),
        stacked=min(min(layer) for layer in layers) > 1,  # as in `stages_of`
    )


def _parameters(scenario: Scenario) -> int:
    """Return how many parameters a model has, 0 where only its numbers would tell.

    Too many for the memory must be refused: Linux would end the run without a word.

    Raises:
        InputError: no memory could hold them.
    """
    import torch

    from simfl.training.flat import Layout, build

    try:
        with torch.device("meta"):  # takes no memory for numbers
            module = build(scenario.model, *scenario.inputs_and_outputs())
            return sum(Layout.of(module, frozen).size for frozen in (False, True))
    except Exception as error:  # not all that a module may do goes without numbers
        if is_out_of_memory(error):
            what = f"model {scenario.model.name!r} is larger than any memory"
            raise InputError(what) from error
        return 0


def _model_facts(scenario: Scenario) -> ModelFacts:
    from simfl.training.batch_norm import has_batch_norm
    from simfl.training.flat import Layout, build
    from simfl.training.flops import forward_flops, training_flops
    from simfl.training.kernels.network import network_of
    from simfl.training.kernels.stages import stages_of
    from simfl.training.linear_calls import profile_width
    from simfl.training.personal import personal_layout, shared_layout
    from simfl.training.program import is_convex
    from simfl.training.tokens import example_input, takes_tokens

    shape, classes = scenario.inputs_and_outputs()
    module = build(scenario.model, shape, classes)
    layout, flops = shared_layout(module, scenario.model), training_flops(module, shape)
    return ModelFacts(
        parameters=layout.size,
        tensors=tuple(int(np.prod(part)) for part in layout.shapes),
        flops=flops,
        forward_units=forward_flops(module, shape) / flops if flops else FORWARD_UNITS,
        convex=is_convex(module),
        profile=profile_width(module, example_input(module, shape)),
        takes_tokens=takes_tokens(module, shape),
        compiled=network_of(module, shape) is not None and is_compilable(scenario.training.local()),
        stacked=stages_of(module, shape) is not None,
        batch_norm=has_batch_norm(module),
        frozen=Layout.of(module, frozen=True).size,
        personal=personal_layout(module, scenario.model).size,
    )


def memory_to_train(scenario: Scenario) -> int:
    """Return the bytes of a device's memory that training takes (0: no device's is limited)."""
    if not _limits_memory(scenario):
        return 0
    from simfl.training.flat import build
    from simfl.training.memory import training_bytes

    shape, classes = scenario.inputs_and_outputs()
    module = build(scenario.model, shape, classes)
    aggregation = scenario.aggregation
    kept = aggregation.corrects * (1 + aggregation.sends_corrections)
    return training_bytes(module, shape, scenario.training.local(), kept)


def _limits_memory(scenario: Scenario) -> bool:
    return any(group.memory is not None or "memory" in group.traced for group in scenario.fleet)
