from collections.abc import Callable

import numpy as np
import pytest
from torch import nn

from simfl.components.local_training import LocalTraining
from simfl.components.models.base import Model
from simfl.components.models.resnet import ResNet
from simfl.components.optimizers.base import Optimizer
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import Plan
from simfl.training.flat import build
from simfl.training.kernels import (
    CompiledKernel,
    Kernel,
    LinearKernel,
    LoopKernel,
    RecordedKernel,
    choose_kernel,
)
from simfl.training.kernels.compiled import compiled_kernel
from simfl.training.kernels.stages import stages_of
from simfl.training.kernels.steps import batch_width
from tests.training.learning_stubs import (
    Added,
    Chained,
    Convolutional,
    Logistic,
    Perceptron,
    Reader,
    Residual,
    Scaled,
    close,
    full_segment,
    initial,
    lanes_of,
    linear_kernel,
    make_orders,
    make_task,
    reference,
)

SIZES = [20, 7, 33, 1, 64]
RESNET = ResNet(blocks=(1, 1), channels=4)
TRAINING = LocalTraining(8, Sgd(lr=0.05, momentum=0.5, weight_decay=0.001), proximal=0.1)


KERNELS: dict[str, Callable[..., Kernel | None]] = {
    "compiled": compiled_kernel,
    "linear": linear_kernel,
    "loop": lambda module, shape: LoopKernel(module),
    "recorded": lambda module, shape: RecordedKernel(module),
}


@pytest.mark.parametrize(
    ("kind", "model", "shape"),
    [
        *((kind, Logistic(), (20,)) for kind in KERNELS),
        *((kind, Perceptron(), (4, 5)) for kind in KERNELS),
        *((kind, Residual(), (20,)) for kind in ("loop", "recorded")),
        *((kind, Scaled(), (20,)) for kind in ("loop", "recorded")),
        *((kind, Added(), (20,)) for kind in ("loop", "recorded")),
        ("loop", RESNET, (2, 6, 6)),
        *((kind, Convolutional(), (1, 8, 8)) for kind in ("compiled", "loop", "recorded")),
    ],
)
def test_every_kernel_equals_torch_sgd(kind, model, shape):
    task = make_task(model, SIZES, shape, training=TRAINING)
    base, orders = initial(task), make_orders(SIZES, Plan(steps=50))
    module = build(task.model, task.shape, task.classes)
    kernel = KERNELS[kind](module, shape)
    assert kernel is not None
    lanes = lanes_of(task, orders, base)
    progress = kernel.run(lanes, task.data.x, task.data.y, TRAINING)
    for lane, order in enumerate(orders):
        params, loss = reference(task, base, order)
        assert close(progress.params[lane].numpy(), params)
        assert progress.losses[lane] / len(lanes[lane].segment.rows) == pytest.approx(
            loss, rel=1e-5
        )


class Idle(Optimizer):
    """Leaves everything as it is."""

    lr: float = 0.1

    def update(self, params, gradient, rates, memory, step):
        pass


OTHERS = LocalTraining(8, Idle())
"""What the compiled kernel does not know."""


@pytest.mark.parametrize(
    ("model", "shape", "training", "kernel"),
    [
        (Logistic(), (20,), TRAINING, CompiledKernel),
        (Perceptron(dropout=0.5), (1, 4, 5), TRAINING, CompiledKernel),
        (Convolutional(), (1, 8, 8), TRAINING, CompiledKernel),
        (Perceptron(dropout=0.5), (1, 4, 5), OTHERS, LinearKernel),
        (Perceptron(hidden=(1,)), (20,), OTHERS, LoopKernel),  # a single unit: see stages_of
        (Chained(), (20,), OTHERS, LinearKernel),
        (Convolutional(), (1, 8, 8), OTHERS, LoopKernel),
        (Reader(), (6,), TRAINING, LoopKernel),
        (Residual(), (20,), TRAINING, LoopKernel),
        (RESNET, (2, 6, 6), TRAINING, LoopKernel),
    ],
)
def test_the_kernel_follows_from_the_model_and_how_it_is_trained(model, shape, training, kernel):
    assert type(choose_kernel(build(model, shape, 5), shape, training)) is kernel


def test_what_is_a_linear_stack():
    def stages(*layers, shape=(6,)):
        return stages_of(nn.Sequential(*layers), shape)

    first, last = nn.Linear(6, 4), nn.Linear(4, 3)
    assert [s.weight for s in stages(first, nn.ReLU(), last)] == ["0.weight", "2.weight"]
    assert [s.weight for s in stages_of(first, (6,)) or ()] == ["weight"]
    nested = stages(
        nn.Flatten(), nn.Sequential(first, nn.Tanh()), nn.Identity(), last, shape=(2, 3)
    )
    assert [s.bias for s in nested] == ["1.0.bias", "3.bias"]
    assert stages(first, last, shape=(2, 6)) is None  # without Flatten: other meaning
    assert stages(nn.ReLU(), first) is None
    assert stages(first, nn.GELU(), last) is None
    assert stages(first, nn.LayerNorm(4), last) is None
    relu = nn.ReLU()  # used twice: both count
    assert [len(s.after) for s in stages(first, relu, nn.Linear(4, 4), relu, last)] == [1, 1, 0]
    shared = nn.Linear(6, 6)
    assert stages(shared, nn.ReLU(), shared) is None


class Halved(nn.Sequential):
    def forward(self, x):
        return super().forward(x) / 2


class Trebled(nn.Flatten):
    def forward(self, x):
        return 3 * super().forward(x)


@pytest.mark.parametrize("training", [TRAINING, OTHERS])
@pytest.mark.parametrize(
    "module",
    [
        Halved(nn.Linear(6, 3)),
        nn.Sequential(Halved(nn.Linear(6, 4)), nn.Linear(4, 3)),
        nn.Sequential(Trebled(), nn.Linear(6, 3)),
        nn.Sequential(nn.Flatten(1), nn.Linear(6, 3)).append(Halved()),
    ],
)
def test_what_does_more_than_its_layers_is_left_to_autograd(module, training):
    assert type(choose_kernel(module, (6,), training)) is LoopKernel


def test_so_are_layers_with_hooks():
    module = nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 3))
    assert type(choose_kernel(module, (6,), TRAINING)) is CompiledKernel
    module[0].register_forward_pre_hook(lambda layer, inputs: (2 * inputs[0],))
    assert type(choose_kernel(module, (6,), TRAINING)) is LoopKernel


class Bare(Model):
    """A linear layer that is in no sequence."""

    def build(self, shape, classes):
        return nn.Linear(shape[0], classes)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (Convolutional(), (3, 12, 12)), (Residual(), (20,)), (Logistic(), (20,)), (Bare(), (20,))
    ],
)  # fmt: skip
def test_a_model_comes_back_as_it_went_in(model, shape):
    """Whatever its layout was meanwhile; and the one it started from is left alone."""
    task = make_task(model, SIZES, shape, training=OTHERS)
    base = initial(task)
    lanes = lanes_of(task, make_orders(SIZES), base)
    kernel = choose_kernel(build(model, shape, task.classes), shape, OTHERS)
    progress = kernel.run(lanes, task.data.x, task.data.y, OTHERS)
    for lane, params in zip(lanes, progress.params, strict=True):
        assert params.numpy().tobytes() == base.tobytes()
        assert params.data_ptr() != lane.start.data_ptr()


def test_the_width_of_a_lane_depends_on_itself_alone():
    task = make_task(Logistic(), [1000])
    rows = task.data.train_rows[0]
    for n in (1, 7, 8, 9, 30, 64, 65, 500, 1000):
        for batch in (1, 3, 8, 50, 64, 10**6):
            training = LocalTraining(batch, Sgd(lr=0.1))
            (order,) = make_orders([n], Plan(full_epochs=1))
            width = batch_width(full_segment(order, rows[:n], training), batch)
            assert min(n, batch) <= width <= 1.5 * min(n, batch) + 7
            if n >= batch >= 8:
                assert width == batch
    assert np.isclose(batch_width(full_segment(order, rows[:3], training), 8, 16), 16)
