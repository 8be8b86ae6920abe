"""Which modules are stacks of fully connected layers."""

from dataclasses import dataclass

from torch import nn

from simfl.training.kernels.lanes import row_multiple

ELEMENTWISE = (nn.ReLU, nn.Sigmoid, nn.Tanh, nn.Dropout)


@dataclass(frozen=True)
class Stage:
    """One linear layer and the elementwise layers after it."""

    weight: str
    bias: str | None
    inputs: int
    outputs: int
    after: tuple[nn.Module, ...]

    @property
    def padded_outputs(self) -> int:
        """How many outputs make each lane's weight begin at a multiple of 64 bytes."""
        multiple = row_multiple(self.inputs)
        return -(-self.outputs // multiple) * multiple


def stages_of(module: nn.Module, shape: tuple[int, ...]) -> list[Stage] | None:
    """Return the stages of a stack of linear and elementwise layers; None: it is no such stack."""
    if isinstance(module, nn.Linear):
        module = nn.Sequential(module)
    if not isinstance(module, nn.Sequential):
        return None
    layers = leaves(module)
    if layers and isinstance(layers[0][1], nn.Flatten) and layers[0][1].start_dim == 1:
        layers = layers[1:]
    elif len(shape) != 1:
        return None
    stages: list[Stage] = []
    for name, layer in layers:
        if type(layer) is nn.Linear:
            bias = None if layer.bias is None else f"{name}bias"
            stages.append(Stage(f"{name}weight", bias, layer.in_features, layer.out_features, ()))
        elif type(layer) is nn.Dropout and layer.p == 0:
            continue
        elif type(layer) in ELEMENTWISE and stages:
            last = stages.pop()
            after = (*last.after, layer)
            stages.append(Stage(last.weight, last.bias, last.inputs, last.outputs, after))
        else:
            return None
    weights = [layer.weight for _, layer in layers if isinstance(layer, nn.Linear)]
    shared = len({id(weight) for weight in weights}) < len(stages)
    # A product with a single column is the one shape whose bits depend on more than alignment.
    single = any(min(stage.inputs, stage.outputs) == 1 for stage in stages)
    return None if shared or single or not stages else stages


def leaves(module: nn.Sequential, prefix: str = "") -> list[tuple[str, nn.Module]]:
    """Return the layers of nested sequences, each with the prefix of its parameters' names."""
    layers: list[tuple[str, nn.Module]] = []
    for name, layer in module._modules.items():  # `named_children` leaves out repeated layers
        if layer is None or type(layer) is nn.Identity:
            continue
        if type(layer) is nn.Sequential:
            layers += leaves(layer, f"{prefix}{name}.")
        else:
            layers.append((f"{prefix}{name}.", layer))
    return layers
