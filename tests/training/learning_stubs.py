"""Small models, data and a plain PyTorch reference, shared by the tests of execution."""

import multiprocessing
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from simfl.components.aggregators.base import Contribution
from simfl.components.coresets.base import Coreset
from simfl.components.datasets.clients import Samples
from simfl.components.local_training import LocalTraining
from simfl.components.models.base import Model
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import OrderBatch, Plan, WorkOrder
from simfl.training import local
from simfl.training.data import Partitioned
from simfl.training.flat import Layout, build, flatten, initial_params, load
from simfl.training.kernels import Lane, LinearKernel
from simfl.training.kernels.stages import stages_of
from simfl.training.segments import coreset_segment, full_segments
from simfl.training.task import Task


class Logistic(Model):
    """Linear, sigmoid: the paper's LR."""

    sigmoid: bool = True

    def build(self, shape, classes):
        layers = [nn.Linear(shape[0], classes)]
        return nn.Sequential(*layers, nn.Sigmoid()) if self.sigmoid else nn.Sequential(*layers)


class Perceptron(Model):
    """Flatten, hidden layers with an activation and perhaps dropout before or after it."""

    hidden: tuple[int, ...] = (16, 12)
    activation: str = "ReLU"
    dropout: float = 0.0
    dropout_first: bool = True
    bias: bool = True

    def build(self, shape, classes):
        width = int(np.prod(shape))
        layers: list[nn.Module] = [nn.Flatten()]
        for units in self.hidden:
            layers.append(nn.Linear(width, units, bias=self.bias))
            after = [getattr(nn, self.activation)()]
            if self.dropout:
                after.insert(0 if self.dropout_first else 1, nn.Dropout(self.dropout))
            layers.append(nn.Sequential(*after))
            width = units
        return nn.Sequential(*layers, nn.Linear(width, classes, bias=self.bias))


class Chained(Model):
    """Every elementwise layer behind every other, at the end too."""

    def build(self, shape, classes):
        return nn.Sequential(
            nn.Linear(shape[0], 9),
            nn.ReLU(),
            nn.Sigmoid(),
            nn.Linear(9, 16, bias=False),
            nn.Tanh(),
            nn.ReLU(),
            nn.Dropout(0.0),
            nn.Linear(16, 12),
            nn.Linear(12, classes),
            nn.Tanh(),
            nn.Sigmoid(),
            nn.Dropout(0.0),
        )


class Convolutional(Model):
    """Two small convolutions and a linear layer, with dropout on request."""

    dropout: float = 0.0

    def build(self, shape, classes):
        side = shape[1] // 4
        return nn.Sequential(
            nn.Conv2d(shape[0], 4, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(6 * side * side, 10),
            nn.ReLU(),
            nn.Dropout(self.dropout),
            nn.Linear(10, classes),
        )


class Normalised(Model):
    """Batch norm after a convolution and after a linear layer."""

    tracks: bool = True

    def build(self, shape, classes):
        return nn.Sequential(
            nn.Conv2d(shape[0], 4, 3, padding=1),
            nn.BatchNorm2d(4, track_running_stats=self.tracks),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * shape[1] * shape[2], 10),
            nn.BatchNorm1d(10, track_running_stats=self.tracks),
            nn.Tanh(),
            nn.Linear(10, classes),
        )


class _Residual(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))
        self.norm = nn.LayerNorm(width)
        self.outer = nn.Linear(width, classes)

    def forward(self, x):
        return self.outer(self.norm(x + self.scale * torch.tanh(self.inner(x))))


class Residual(Model):
    """A custom module: not a stack."""

    def build(self, shape, classes):
        return _Residual(shape[0], classes)


class _Scaled(nn.Module):
    """A single number among the parameters, as a temperature is."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.linear = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.scale * self.linear(x).tanh()


class Scaled(Model):
    def build(self, shape, classes):
        return _Scaled(shape[0], classes)


class _Added(nn.Module):
    """Parameters whose gradients are the same numbers, which autograd keeps once."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, classes, bias=False)
        self.scale = nn.Parameter(torch.arange(float(classes)))
        self.first, self.second = (nn.Parameter(torch.full((classes,), n)) for n in (0.5, 2.0))
        self.summed = nn.Parameter(torch.arange(3.0))

    def forward(self, x):
        return self.scale * (self.linear(x) + self.summed.sum() * (self.first + self.second))


class Added(Model):
    def build(self, shape, classes):
        return _Added(shape[0], classes)


class _Reader(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.embedding = nn.Embedding(classes, 4, padding_idx=0)
        self.lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True)
        self.head = nn.Linear(6, classes)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0][:, -1])


class Reader(Model):
    """An LSTM over tokens."""

    def build(self, shape, classes):
        return _Reader(classes)


class FirstRows(Coreset):
    """Keeps `size` rows drawn without replacement; odd rows weigh twice as much as even ones."""

    features = "last_layer_gradient"

    def choose(self, features, labels, size, rng):
        assert len(features) == len(labels)
        rows = np.sort(rng.choice(len(labels), min(size, len(labels)), replace=False))
        weights = 1.0 + rows % 2
        return rows, weights * len(labels) / weights.sum()


class Everything(Coreset):
    """Keeps all rows whatever the size, each for itself."""

    features = "none"

    def choose(self, features, labels, size, rng):
        return np.arange(len(labels)), np.ones(len(labels))


@dataclass(frozen=True)
class InMemory(Task):
    """A task whose samples are at hand."""

    data: Partitioned


def make_task(
    model, sizes, shape=(20,), classes=5, training=None, seed=0, tokens=False, **options
) -> InMemory:
    """Return a task over random data with so many samples per client."""
    rng = np.random.default_rng(seed)
    total = int(sum(sizes)) + 3
    if tokens:
        x = rng.integers(0, classes, (total, *shape))
    else:
        x = rng.standard_normal((total, *shape)).astype(np.float32)
    samples = Samples(x, rng.integers(0, classes, total))
    rows = np.split(rng.permutation(total)[: sum(sizes)], np.cumsum(sizes)[:-1])
    data = Partitioned(samples, [np.sort(r) for r in rows], [np.zeros(0, np.int64)] * len(sizes))
    if training is None:
        training = LocalTraining(8, Sgd(lr=0.1))
    return InMemory(model, shape, classes, data, training, **options)


def make_orders(sizes, plan=None, base=0, round_=1) -> list[WorkOrder]:
    """Return one order for each client."""
    plan = plan or Plan(full_epochs=2)
    return [
        WorkOrder(client, 0, round_, base, plan, 1234567 + 987654321 * client)
        for client in range(len(sizes))
    ]


def stack(model, shape, classes, seed=0) -> nn.Sequential:
    """Return the module of a `model` that stacks layers."""
    module = build(model, shape, classes, seed)
    assert isinstance(module, nn.Sequential)
    return module


def linear_kernel(module, shape) -> LinearKernel:
    """Return the kernel of a `module` of linear and elementwise layers."""
    stages = stages_of(module, shape)
    assert stages is not None
    return LinearKernel(Layout.of(module), stages)


def initial(task, seed=1):
    """Return the initial model of `task`."""
    return initial_params(task.model, task.shape, task.classes, seed)


def train(task, bases, orders, corrections=None):
    """Return the results of `orders`."""
    return local.train(task, OrderBatch(bases, orders, corrections))


def play(task, aggregator, model, rounds, steps, clients=None):
    """Return the model after some rounds with all clients, or so many in turn."""
    total = len(task.data.train_rows)
    aggregator.prepare(task.training, total, total)
    for round_ in range(1, rounds + 1):
        n = clients or total
        chosen = sorted({(round_ * n + i) % total for i in range(n)})
        orders = [WorkOrder(k, round_, round_, 0, Plan(steps=steps), round_) for k in chosen]
        given = {o.key: aggregator.correction(o.client) for o in orders}
        corrections = None if any(one is None for one in given.values()) else given
        results = train(task, {0: model}, orders, corrections)
        model = aggregator.aggregate(model, [Contribution(r, model) for r in results])
    return model


def full_segment(order, rows, training):
    """Return the segment of one order over all of its client's `rows` `(n,)`."""
    [segment] = full_segments([order], [rows], training)
    return segment


def lanes_of(task, orders, base, offsets=None, device="cpu"):
    """Return the lanes of `orders` over all of their clients' samples, all from `base`."""
    base = torch.from_numpy(base).to(device)
    return [
        Lane(
            base,
            base,
            full_segment(order, task.data.train_rows[order.client], task.training),
            None if offsets is None else offsets[at],
        )
        for at, order in enumerate(orders)
    ]


def torch_optimizer(optimizer, parameters):
    """Return PyTorch's own."""
    options = optimizer.model_dump(exclude={"clip"})
    return {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[
        optimizer.name
    ](parameters, **options)


def torch_rows(loss, outputs, targets):
    """Return the loss of each row by PyTorch's own."""
    if loss.name == "cross_entropy":
        own = nn.CrossEntropyLoss(reduction="none", label_smoothing=loss.label_smoothing)
        return own(outputs, targets)
    classes = {"mean_squared_error": nn.MSELoss, "binary_cross_entropy": nn.BCEWithLogitsLoss}
    each = classes[loss.name](reduction="none")(outputs, targets.view_as(outputs).float())
    return each.mean(1)


def reference(task, base, order, coreset=None, correction=None):
    """Train one order with ``torch.optim`` on the same batches; return (params, loss)."""
    module = build(task.model, task.shape, task.classes)
    load(module, base)
    training, rows = task.training, task.data.train_rows[order.client]
    segments = [full_segment(order, rows, training)]
    if coreset is not None:
        kept, weights = coreset
        segments.append(coreset_segment(order, rows[kept], weights, training, segments[0].steps))
    anchor = [p.detach().clone() for p in module.parameters()]
    losses, seen = 0.0, 0
    for segment in segments:
        optimizer = torch_optimizer(training.optimizer, module.parameters())
        ends = np.cumsum(segment.sizes)
        for size, end, rate in zip(segment.sizes, ends, segment.rates, strict=True):
            used = slice(end - size, end)
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
            x, y = task.data.x[segment.rows[used]], task.data.y[segment.rows[used]]
            each = torch_rows(training.loss, module(x), y)
            if segment.weights is None:
                loss = each.mean()
            else:
                w = torch.from_numpy(segment.weights[used]).float()
                loss = (w * each).sum() / w.sum()
            losses, seen = losses + loss.item() * size, seen + size
            pull = sum(
                ((p - a) ** 2).sum() for p, a in zip(module.parameters(), anchor, strict=True)
            )
            objective = loss + training.proximal / 2 * pull
            if correction is not None:  # the gradient of a linear term
                flat = torch.cat([p.flatten() for p in module.parameters()])
                objective = objective + flat @ torch.from_numpy(correction)
            objective.backward()
            if training.optimizer.clip is not None:
                torch.nn.utils.clip_grad_norm_(module.parameters(), training.optimizer.clip)
            optimizer.step()
    return flatten(module), losses / seen if seen else float("nan")


def worker_pids() -> list[int]:
    """Return the process ids of the workers that this process has."""
    workers = [p for p in multiprocessing.active_children() if p.name == "simfl-worker"]
    return sorted(worker.pid for worker in workers if worker.pid is not None)


def close(a, b, tolerance=1e-5):
    """Say whether `a` is within a relative `tolerance` of `b`, as vectors."""
    return np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)
