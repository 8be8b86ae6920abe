"""Ways to run SGD over many clients, and which of them suits a model; `base.py` is the seam.

- `compiled` takes a `network` of convolutions and linear layers, and has a `library` in C run it;
- `linear` takes `stages` of linear layers: a `chunk` of `lanes` runs through its `steps` in a
  `workspace`, whose `padded_layers`, `elementwise` ones, `objectives` and how to `optimize` are
  over all lanes at once;
- `recorded` is for GPUs, where each client has a `seat`;
- `loop` runs whatever else there is.
"""

import torch
from torch import nn

from simfl.components.local_training import LocalTraining
from simfl.training.compilable import is_compilable
from simfl.training.flat import Layout
from simfl.training.kernels.base import Kernel, Lane, Progress
from simfl.training.kernels.compiled import CompiledKernel, compiled_kernel
from simfl.training.kernels.linear import LinearKernel
from simfl.training.kernels.loop import LoopKernel
from simfl.training.kernels.recorded import RecordedKernel, can_record
from simfl.training.kernels.stages import stages_of

__all__ = [
    "CompiledKernel",
    "Kernel",
    "Lane",
    "LinearKernel",
    "LoopKernel",
    "Progress",
    "RecordedKernel",
    "choose_kernel",
]


def choose_kernel(module: nn.Module, shape: tuple[int, ...], training: LocalTraining) -> Kernel:
    """Return the fastest kernel that can run `module` where its parameters are.

    The choice depends on the model, how clients train and the kind of device only, never on the
    cohort, the executor or the number of workers, for kernels differ in the last bits.

    Args:
        module: the model, on its device; the kernel may take its parameters over.
        shape: shape of one input.
        training: how clients train.
    """
    if is_compilable(training) and (compiled := compiled_kernel(module, shape)):
        return compiled
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    if device.type != "cpu":
        whole = training.personal_epochs is None  # what is recorded changes all parameters
        records = whole and training.optimizer.repeats and can_record(module, shape)
        return RecordedKernel(module) if records else LoopKernel(module)
    if training.augmentation is None and (stages := stages_of(module, shape)):
        return LinearKernel(Layout.of(module), stages)
    return LoopKernel(module)
