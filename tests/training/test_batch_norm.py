"""Models with batch norm are trained and judged as PyTorch does without running statistics."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.training.batch_norm import use_batch_statistics
from simfl.training.evaluate import OTHERS, evaluate
from simfl.training.flat import flatten, initial_params, load
from simfl.training.flops import forward_flops
from simfl.training.measure import measure
from simfl.training.memory import training_bytes
from tests.training.learning_stubs import (
    Normalised,
    close,
    full_segment,
    initial,
    make_orders,
    make_task,
    train,
)

SHAPE, CLASSES = (2, 4, 4), 5
TRAINING = LocalTraining(8, Sgd(lr=0.1, momentum=0.5))


def plain(params: np.ndarray) -> nn.Module:
    """Return the module as a user would make it, in training mode."""
    module = Normalised(tracks=False).build(SHAPE, CLASSES)
    load(module, params)
    return module.train()


def test_training_is_that_of_a_plain_loop() -> None:
    sizes = [40, 7, 20, 12]
    task = make_task(Normalised(), sizes, SHAPE, training=TRAINING)
    base, orders = initial(task), make_orders(sizes)
    for order, result in zip(orders, train(task, {0: base}, orders), strict=True):
        module = plain(base)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.5)
        segment = full_segment(order, task.data.train_rows[order.client], TRAINING)
        for rows in np.split(segment.rows, np.cumsum(segment.sizes)[:-1]):
            optimizer.zero_grad()
            F.cross_entropy(module(task.data.x[rows]), task.data.y[rows]).backward()
            optimizer.step()
        assert close(result.params, flatten(module))
        assert not close(result.params, base, 1e-2)


@pytest.mark.parametrize("n", [40, OTHERS, 2 * OTHERS + 30])
def test_a_model_is_judged_by_the_batches_at_hand(n: int) -> None:
    task = make_task(Normalised(), [n], SHAPE)
    params = initial(task)
    x, y = task.data.x[:n], task.data.y[:n]
    with torch.no_grad():
        logits = torch.cat([plain(params)(batch) for batch in x.split(OTHERS)])
    result = evaluate(task, params, x, y)
    assert result.loss == pytest.approx(F.cross_entropy(logits.double(), y).item(), rel=1e-5)
    assert result.accuracy == (logits.argmax(1) == y).double().mean().item()


def test_clients_measure_on_their_own_samples_alone() -> None:
    sizes = [40, 7, 0, 300]
    task = make_task(Normalised(), sizes, SHAPE, wants=("gradient",))
    data = task.data
    task = replace(task, data=replace(data, validation_rows=data.train_rows))
    params, clients = initial(task), range(len(sizes))
    losses, profiles, gradients = (
        measure(task, report, params, clients) for report in ("loss", "fc1_profile", "gradient")
    )
    for client in (0, 1):
        rows, module = data.train_rows[client], plain(params)
        loss = F.cross_entropy(module(data.x[rows]), data.y[rows])
        loss.backward()
        gradient = torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])
        assert losses[client] == pytest.approx(loss.item(), rel=1e-5)
        assert close(gradients[client], gradient.numpy(), 1e-4)
        with torch.no_grad():
            profile = nn.Sequential(*list(module.children())[:5])(data.x[rows]).mean(0)
        assert profiles[client] == pytest.approx(profile.numpy(), rel=1e-4, abs=1e-6)
    assert np.isnan(losses[2])
    for client in clients:  # whoever else is asked
        alone = measure(task, "loss", params, [client])
        assert np.array_equal(alone, losses[client : client + 1], equal_nan=True)


@pytest.mark.parametrize("affine", [True, False])
def test_one_value_per_channel_becomes_zero(affine: bool) -> None:
    """The limit of two equal ones, which PyTorch does compute."""
    layer = nn.BatchNorm1d(3, affine=affine)
    if affine:
        nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(1))
        nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(2))
    x = torch.tensor([[1.0, -2.0, 3.0]], requires_grad=True)
    expected = nn.functional.batch_norm(
        torch.cat([x, x]), None, None, layer.weight, layer.bias, training=True
    )
    use_batch_statistics(layer)
    result = layer(x)
    assert torch.allclose(result, expected[:1], atol=1e-3)  # PyTorch divides by sqrt(1e-5)
    assert torch.equal(result[0], layer.bias if affine else torch.zeros(3))
    assert torch.equal(layer(x.unsqueeze(2)), result.unsqueeze(2))
    (gradient,) = torch.autograd.grad(result.sum(), x)
    assert torch.equal(gradient, torch.zeros(1, 3))
    assert list(layer.buffers()) == []


def test_what_is_known_of_one_sample_is_known_of_them() -> None:
    """Whether PyTorch's own layers or ours: costs are counted, the start is the same."""
    task = make_task(Normalised(), [4], SHAPE)
    tracked, untracked = (
        initial_params(Normalised(tracks=tracks), SHAPE, CLASSES, seed=3)
        for tracks in (True, False)
    )
    assert tracked.tobytes() == untracked.tobytes()
    module = plain(initial(task))
    use_batch_statistics(module)
    assert forward_flops(module, SHAPE) == 2 * (2 * 4 * 9 * 16 + 64 * 10 + 10 * 5)
    wide, narrow = (training_bytes(module, SHAPE, LocalTraining(b, Sgd())) for b in (64, 32))
    assert 1 < wide / narrow < 2
