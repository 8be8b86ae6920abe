"""How a GPU computes: in full float32, and the same bits every time."""

import os
import warnings

import torch


def settle() -> None:
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


def name_of(device: str) -> str | None:
    """Return what the GPU that `device` names is called; None: it is none, or is not here."""
    if not device.startswith("cuda") or not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name(device)
