"""What inputs a module takes: tokens, which an embedding looks up, or measurements."""

import torch
from torch import nn


def takes_tokens(module: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether inputs of `shape` are tokens, whole numbers, instead of measurements.

    They are if the module has an embedding and can't take measurements.  Embeddings may stand for
    something else: for positions, or for one column of several, which the module rounds itself.
    """
    return _looks_up(module) and not _takes(module, shape, torch.float32)


def reads_tokens(module: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether a module with an embedding takes tokens, be it beside measurements."""
    return _looks_up(module) and _takes(module, shape, torch.int64)


def _looks_up(module: nn.Module) -> bool:
    return any(isinstance(layer, nn.Embedding | nn.EmbeddingBag) for layer in module.modules())


def _takes(module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    """Whether zeros of a `dtype` go through a module."""
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            module(_zeros(module, shape, 1, dtype))
    except Exception:  # whatever its code raises: with another dtype it may not
        return False
    finally:
        module.train(was_training)
    return True


def example_input(module: nn.Module, shape: tuple[int, ...], n: int = 1) -> torch.Tensor:
    """Return `n` zero inputs of `shape` in the dtype that the module takes (tokens or floats)."""
    dtype = torch.int64 if takes_tokens(module, shape) else torch.float32
    return _zeros(module, shape, n, dtype)


def _zeros(module: nn.Module, shape: tuple[int, ...], n: int, dtype: torch.dtype) -> torch.Tensor:
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    return torch.zeros((n, *shape), dtype=dtype, device=device)
