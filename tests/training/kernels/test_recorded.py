"""What a GPU runs: recorded steps (on a CPU the same steps, one by one)."""

import numpy as np
import pytest
import torch
from torch import nn

from simfl.components.local_training import Augmentation, LocalTraining
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.models.base import Model
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import Plan
from simfl.training import gpu
from simfl.training.flat import build
from simfl.training.kernels import LoopKernel, choose_kernel, recorded
from simfl.training.kernels.recorded import RecordedKernel, can_record
from simfl.training.kernels.seat import Seat
from tests.training.learning_stubs import (
    Chained,
    Convolutional,
    Logistic,
    Normalised,
    Perceptron,
    Reader,
    Residual,
    close,
    initial,
    lanes_of,
    make_orders,
    make_task,
    reference,
    train,
)

DEVICES = [
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
    ),
    "cpu",
]
pytestmark = pytest.mark.filterwarnings("ignore:RNN module weights are not part")
SIZES = [20, 7, 33, 1, 64, 8, 9, 40] * 3
WAYS = {
    "momentum": LocalTraining(8, Sgd(lr=0.05, momentum=0.5, weight_decay=0.001), proximal=0.1),
    "nesterov, clipped": LocalTraining(8, Sgd(lr=0.05, momentum=0.9, nesterov=True, clip=0.5)),
    "adam": LocalTraining(8, Adam(lr=0.01, eps=1e-3, clip=1.0)),
}
MODELS = [
    (Logistic(), (20,), False),
    (Perceptron(), (4, 5), False),
    (Chained(), (20,), False),
    (Residual(), (20,), False),
    (Convolutional(), (1, 8, 8), False),
    (Reader(), (6,), True),
]


@pytest.fixture(autouse=True)
def _settled():
    if torch.cuda.is_available():
        gpu.use_exact_algorithms()


def trained(kernel, task, lanes, device):
    x, y = task.data.x.to(device), task.data.y.to(device)
    return kernel.run(lanes, x, y, task.training)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("model", "shape", "tokens"), MODELS, ids=str)
def test_recorded_steps_are_those_of_torch_optim(device, way, model, shape, tokens):
    task = make_task(model, SIZES[:8], shape, training=WAYS[way], tokens=tokens)
    base, orders = initial(task), make_orders(SIZES[:8], Plan(steps=50))
    kernel = RecordedKernel(build(task.model, task.shape, task.classes).to(device))
    lanes = lanes_of(task, orders, base, device=device)
    progress = trained(kernel, task, lanes, device)
    for lane, order in enumerate(orders):
        params, loss = reference(task, base, order)
        assert close(progress.params[lane].cpu().numpy(), params)
        assert progress.losses[lane] / len(lanes[lane].segment.rows) == pytest.approx(
            loss, rel=1e-5
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("model", "shape", "tokens"), MODELS, ids=str)
def test_company_changes_no_bit(device, model, shape, tokens, monkeypatch):
    task = make_task(model, SIZES, shape, training=WAYS["momentum"], tokens=tokens)
    module = build(task.model, task.shape, task.classes).to(device)
    lanes = lanes_of(task, make_orders(SIZES), initial(task), device=device)
    kernel = RecordedKernel(module)
    whole = trained(kernel, task, lanes, device)

    def same(kernel, places):
        part = trained(kernel, task, [lanes[place] for place in places], device)
        for own, place in enumerate(places):
            assert torch.equal(part.params[own], whole.params[place])
            assert part.losses[own] == whole.losses[place]

    same(kernel, np.random.default_rng(0).permutation(len(lanes)))
    monkeypatch.setattr("simfl.training.kernels.recorded.SEATS", 2)
    same(RecordedKernel(module), [3, 11, 4])


@pytest.mark.parametrize("device", DEVICES)
def test_blocks_of_steps_and_augmented_images(device, monkeypatch):
    how = Augmentation(crop=2, flip=True, border=(-1.0, 0.5, 2.0))
    training = LocalTraining(8, Sgd(lr=0.05), augmentation=how)
    task = make_task(Convolutional(), SIZES[:8], (3, 12, 12), training=training)
    module = build(task.model, task.shape, task.classes).to(device)
    lanes = lanes_of(task, make_orders(SIZES[:8]), initial(task), device=device)
    expected = trained(LoopKernel(module), task, lanes, device)
    whole = trained(RecordedKernel(module), task, lanes, device)
    monkeypatch.setattr("simfl.training.kernels.seat.BLOCK_BYTES", 1)
    blocks = trained(RecordedKernel(module), task, lanes, device)
    for some, all_, loop in zip(blocks.params, whole.params, expected.params, strict=True):
        assert torch.equal(some, all_)
        assert close(all_.cpu().numpy(), loop.cpu().numpy())


@pytest.mark.parametrize(("seat_bytes", "count"), [(25, 1), (15, 3), (1, 16)])
def test_seats_are_as_many_as_the_gpu_has_room_for(monkeypatch, seat_bytes, count):
    """Of 100 bytes each takes some; another is made where four times as much is free."""
    seats = []

    class Made(Seat):
        def __init__(self, *args):
            super().__init__(*args)
            seats.append(self)

    monkeypatch.setattr(recorded, "Seat", Made)
    monkeypatch.setattr(recorded, "free_bytes", lambda _device: 100 - seat_bytes * len(seats))
    sizes = [40] * 24
    task = make_task(Residual(), sizes, training=WAYS["momentum"])
    lanes = lanes_of(task, make_orders(sizes), initial(task))
    kernel = RecordedKernel(build(task.model, task.shape, task.classes))
    for part in (lanes[:1], lanes, lanes):
        trained(kernel, task, part, "cpu")
    assert len(seats) == count


class Counted(nn.Linear):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) / (1 if self.calls < 100 else 2)


class Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.rand(1)


class Coupled(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))


def test_what_can_be_recorded():
    for model, shape, _ in MODELS:
        assert can_record(build(model, shape, 5), shape)
    assert not can_record(build(Convolutional(dropout=0.5), (1, 8, 8), 5), (1, 8, 8))
    assert not can_record(build(Normalised(), (1, 8, 8), 5), (1, 8, 8))
    for kind in (Counted, Noisy, Coupled):
        assert not can_record(kind(6, 3), (6,))
    hooked = nn.Linear(6, 3)
    hooked.register_forward_pre_hook(lambda layer, inputs: (2 * inputs[0],))
    assert not can_record(hooked, (6,))


class Looking(CrossEntropy):
    """A loss that lets the processor look at a number."""

    def rows(self, outputs, targets):
        rows = super().rows(outputs, targets)
        return rows * 2 if float(rows.detach().sum()) > 1e9 else rows


class Own(Model):
    """A residual network under another name."""

    def build(self, shape, classes):
        return Residual().build(shape, classes)


GPU = DEVICES[:1]


@pytest.mark.parametrize("device", GPU)
def test_a_loss_that_can_not_be_recorded(device):
    training = LocalTraining(8, Sgd(lr=0.05), loss=Looking())
    task = make_task(Own(), SIZES[:8], training=training)
    module = build(task.model, task.shape, task.classes).to(device)
    lanes = lanes_of(task, make_orders(SIZES[:8]), initial(task), device=device)
    found = trained(RecordedKernel(module), task, lanes, device)
    expected = trained(LoopKernel(module), task, lanes, device)
    for own, loop in zip(found.params, expected.params, strict=True):
        assert torch.equal(own, loop)


@pytest.mark.parametrize("device", GPU)
@pytest.mark.parametrize(
    ("model", "shape", "tokens"),
    [
        *MODELS,
        (Perceptron(dropout=0.5), (4, 5), False),
        (Convolutional(dropout=0.5), (1, 8, 8), False),
        (Normalised(), (1, 8, 8), False),
    ],
    ids=str,
)
def test_a_gpu_repeats_its_bits_and_is_close_to_the_processor(device, model, shape, tokens):
    training = LocalTraining(8, Sgd(lr=0.05, momentum=0.9))
    results = []
    for where in (device, device, "cpu"):
        task = make_task(model, SIZES, shape, training=training, tokens=tokens, device=where)
        results.append(train(task, {0: initial(task)}, make_orders(SIZES)))
    for once, again, processor in zip(*results, strict=True):
        assert once.params.tobytes() == again.params.tobytes()
        assert once.loss == again.loss
        if not getattr(model, "dropout", 0):  # whose masks a GPU draws otherwise
            assert close(once.params, processor.params, 1e-4)


@pytest.mark.parametrize("device", GPU)
def test_a_gpu_records_whatever_it_can(device):
    for model, shape, _ in MODELS:
        module = build(model, shape, 5).to(device)
        assert type(choose_kernel(module, shape, WAYS["momentum"])) is RecordedKernel
    module = build(Normalised(), (1, 8, 8), 5).to(device)
    assert type(choose_kernel(module, (1, 8, 8), WAYS["momentum"])) is LoopKernel
