"""How a GPU computes: in full float32, and the same bits every time."""

import os
import warnings
from typing import Any

import torch
from numpy.typing import NDArray


def use_exact_algorithms() -> None:
    """Let PyTorch use, on GPUs, only algorithms that are exact and repeat their bits.

    Convolutions otherwise round their inputs to 10 bits (TF32), and sums depend on who comes
    first.  Of operations that know no other way PyTorch warns by name.
    """
    # cuBLAS reads it when the first product is computed.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    # Fused attention adds up its gradients in any order.
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    # A model is one vector, which is not how cuDNN would lay out recurrent layers: it copies them.
    warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")


def on_device(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return `array` on `device`; a GPU's stream need not have come so far before it is sent."""
    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


def models_at_once(device: str, model_bytes: int) -> int:
    """Return how many trained models there is room for on a GPU: a quarter of it is theirs."""
    total = torch.cuda.get_device_properties(device).total_memory
    return max(int(total / 4 / model_bytes), 1)


def name_of(device: str) -> str | None:
    """Return what the GPU that `device` names is called; None: it is none, or is not here."""
    if not device.startswith("cuda") or not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name(device)
