"""How much memory a client needs to train: an estimate from the module itself.

Training holds, in float32:

- the parameters and their gradients;
- what the optimizer remembers of each: one number with momentum, two with Adam;
- the global model, if training is proximal;
- what gradients are corrected by, if the aggregator does so (SCAFFOLD: the server's control variate
  and the client's own; FedDyn: the client's own gradient);
- of one mini-batch what autograd keeps from the forward pass for the backward pass: activations,
  indices and masks.

The last is measured: PyTorch tells what it saves for one and for two samples, and it grows linearly
with the batch.  Cross-entropy stands for all losses, which keep about as much.  Parameters that are
frozen have no gradient, and nothing is remembered of them.  Left out is what lives for a moment
only (a layer's workspace and the gradient of its activations) and what the runtime itself takes, so
the true peak is somewhat higher.
"""

import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.local_training import LocalTraining
from simfl.training.flat import trained
from simfl.training.tokens import example_input


def training_bytes(
    module: nn.Module, shape: tuple[int, ...], training: LocalTraining, corrections: int = 0
) -> int:
    """Return the bytes that training `module` takes at its peak, about.

    Args:
        module: the model.
        shape: of one input.
        training: batch size, optimizer and proximal term.
        corrections: vectors of the model's size that gradients are corrected by.
    """
    everything, learnt = (
        sum(p.numel() * p.element_size() for p in some)
        for some in (module.parameters(), trained(module))
    )
    copies = 1 + training.optimizer.buffers + (training.proximal > 0) + corrections
    of_one, of_two = (saved_bytes(module, shape, n) for n in (1, 2))
    return everything + copies * learnt + of_one + (of_two - of_one) * (training.batch_size - 1)


def saved_bytes(module: nn.Module, shape: tuple[int, ...], n: int) -> int:
    """Return the bytes that autograd keeps for the backward pass of `n` samples.

    Tensors that share memory count once, parameters not at all.
    """
    own = {p.untyped_storage().data_ptr() for p in module.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage  # held, so that no other gets the same address
        return tensor

    with (
        torch.random.fork_rng(devices=[]),
        torch.enable_grad(),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        logits = module(example_input(module, shape, n))
        F.cross_entropy(logits, torch.zeros(n, dtype=torch.int64, device=logits.device))
    return sum(storage.nbytes() for storage in kept.values())
