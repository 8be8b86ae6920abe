"""FedDyn held against its paper: the objective as printed, and where it leads."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from simfl.components.aggregators.fedavg import FedAvg
from simfl.components.aggregators.feddyn import FedDyn
from simfl.components.datasets.clients import Samples
from simfl.components.local_training import LocalTraining
from simfl.components.losses.mean_squared_error import MeanSquaredError
from simfl.components.optimizers.sgd import Sgd
from simfl.training.data import Partitioned
from simfl.training.flat import build, flatten, load
from tests.training.learning_stubs import (
    InMemory,
    Logistic,
    Perceptron,
    close,
    initial,
    make_task,
    play,
)

ALPHA, LR, STEPS, ROUNDS = 0.3, 0.1, 6, 5


def test_equals_algorithm_1_in_torch():
    """In float64, by autograd of what a client minimises; three of four take part at a time."""
    training = LocalTraining(64, Sgd(lr=LR), proximal=ALPHA)  # full batches
    task = make_task(Perceptron(activation="Tanh"), [30, 7, 21, 12], training=training)
    module = build(task.model, task.shape, task.classes)
    load(module, initial(task))
    module.double()
    server = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    known, drift = torch.zeros(4, len(server)).double(), torch.zeros(len(server)).double()
    for round_ in range(1, ROUNDS + 1):
        models = {}
        for client in sorted((3 * round_ + i) % 4 for i in range(3)):
            rows = task.data.train_rows[client]
            torch.nn.utils.vector_to_parameters(server.clone(), module.parameters())
            for _ in range(STEPS):
                flat = torch.cat([part.flatten() for part in module.parameters()])
                loss = F.cross_entropy(module(task.data.x[rows].double()), task.data.y[rows])
                loss = loss - known[client] @ flat + ALPHA / 2 * ((flat - server) ** 2).sum()
                slopes = torch.autograd.grad(loss, list(module.parameters()))
                with torch.no_grad():
                    for part, slope in zip(module.parameters(), slopes, strict=True):
                        part.sub_(slope, alpha=LR)
            models[client] = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
            known[client].sub_(models[client] - server, alpha=ALPHA)
        made = torch.stack(list(models.values()))
        drift = drift - ALPHA / 4 * (made - server).sum(0)
        server = made.mean(0) - drift / ALPHA
    torch.nn.utils.vector_to_parameters(server, module.parameters())
    found = play(task, FedDyn(), initial(task), ROUNDS, STEPS, 3)
    assert np.linalg.norm(found - initial(task)) > 0.1
    assert close(found, flatten(module), 1e-5)


def regression(sizes, alpha):
    """Return a linear task of clients that disagree, and the minimum of their mean loss."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(sum(sizes), 3)).astype(np.float32)
    rows = np.split(np.arange(len(x)), np.cumsum(sizes)[:-1])
    tastes = np.concatenate([rng.normal(0, 2, 4) + np.zeros((n, 1)) for n in sizes])
    ones = np.ones((len(x), 1))
    y = (np.hstack([x, ones]) * tastes).sum(1, keepdims=True)
    weight = np.concatenate([np.full((n, 1), n**-0.5) for n in sizes])
    best = np.linalg.lstsq(weight * np.hstack([x, ones]), weight * y, rcond=None)[0].ravel()
    nobody = [np.zeros(0, np.int64)] * len(sizes)
    data = Partitioned(Samples(x, y.astype(np.float32)), rows, nobody)
    training = LocalTraining(64, Sgd(lr=0.25), loss=MeanSquaredError(), proximal=alpha)
    return InMemory(Logistic(sigmoid=False), (3,), 1, data, training), best


@pytest.mark.parametrize(
    ("sizes", "clients", "alpha"),
    [([9], 1, 0.5), ([20, 20, 20, 20], 4, 2.0), ([40, 5, 20, 11], 3, 2.0)],
)
def test_it_finds_the_optimum_and_fedavg_does_not(sizes, clients, alpha):
    """Of equal sizes it is that of all samples pooled; of one client, central training's."""
    task, best = regression(sizes, alpha)
    found = play(task, FedDyn(), initial(task), 30, 8, clients)
    assert np.linalg.norm(found - best) < 1e-5
    if len(sizes) > 1:
        plain, _ = regression(sizes, 0.0)
        drifted = play(plain, FedAvg(weighting="uniform"), initial(task), 6, 20, clients)
        assert np.linalg.norm(drifted - best) > 0.1
