"""The largest of outputs has the bits of PyTorch's reductions, whatever computes it."""

import math

import pytest
import torch

from simfl.training.largest import largest

NAN, INF = math.nan, math.inf
ODD = torch.tensor(
    [[0.0, 0.0, -0.0], [NAN, 3.0, NAN], [1.0, NAN, 2.0], [-INF, INF, INF], [-INF, -INF, -INF]]
)


@pytest.mark.parametrize(
    "outputs",
    [
        ODD,
        ODD.T,  # not row after row
        ODD.double(),
        torch.zeros(0, 3),
        torch.randn(7, 1, generator=torch.Generator().manual_seed(0)),
        torch.randint(4, (101, 10), generator=torch.Generator().manual_seed(0)).float(),
    ],
)
def test_it_is_what_torch_finds(outputs):
    numbers, places, differences = largest(outputs)
    expected, where = outputs.max(1, keepdim=True)
    assert torch.equal(places, where.squeeze(1))
    torch.testing.assert_close(numbers, expected, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(differences, outputs - expected, rtol=0, atol=0, equal_nan=True)
