"""The file of what each client keeps to itself of a model."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from simfl.core.types import Params
from simfl.errors import InputError
from simfl.training.model_file import CLIENTS, PARAMETERS, blaming_file, held_in
from simfl.training.personal import PersonalPart


def personal_file(part: PersonalPart, own: Mapping[int, Params]) -> bytes:
    """Return a file with `own` `(q,)` of each client, as PyTorch keeps it.

    Args:
        part: which of a model's parameters that is.
        own: by client.
    """
    clients = sorted(own)
    stacked = np.stack([np.zeros_like(part.initial), *(own[client] for client in clients)])[1:]
    held = {CLIENTS: torch.tensor(clients, dtype=torch.int64), PARAMETERS: part.tensors(stacked)}
    buffer = io.BytesIO()
    torch.save(held, buffer)
    return buffer.getvalue()


def read_personal(path: Path, part: PersonalPart) -> dict[int, Params]:
    """Return by client the personal parameters `(q,)` that such a file holds.

    Raises:
        OSError: it can't be read.
        InputError: it holds something else, or what it holds is not what was written.
    """
    with blaming_file():
        held = held_in(path)
        clients: Sequence[int] = held[CLIENTS].tolist()
        tensors: Mapping[str, torch.Tensor] = held[PARAMETERS]
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        named = zip(part.names, part.shapes, strict=True)
        if shapes != {name: (len(clients), *shape) for name, shape in named}:
            raise InputError("its tensors are not the personal ones of the scenario's model")
        numbers = [
            tensors[name].reshape(len(clients), math.prod(shape)).numpy()
            for name, shape in zip(part.names, part.shapes, strict=True)
        ]
        return dict(zip(clients, np.concatenate(numbers, axis=1), strict=True))
