"""The compiled kernel: it equals PyTorch, on every instruction set, and reads nothing amiss."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from simfl.components.local_training import Augmentation, LocalTraining
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.models.base import Model, models
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import Plan
from simfl.errors import InputError
from simfl.training.augment import Augmenter
from simfl.training.flat import build
from simfl.training.kernels import choose_kernel, library
from simfl.training.kernels.compiled import CompiledKernel, compiled_kernel
from simfl.training.kernels.network import network_of
from tests.training.learning_stubs import (
    Convolutional,
    Perceptron,
    initial,
    lanes_of,
    make_orders,
    make_task,
)

SIZES = [20, 7, 33]


class Layers(Model):
    """Whatever layers a test asks for."""

    layers: tuple[nn.Module, ...]

    def build(self, shape, classes):
        return nn.Sequential(*self.layers)


FEW = Layers(layers=(nn.Conv2d(3, 5, 3, padding=1), nn.Flatten(), nn.Linear(5 * 7 * 8, 5)))


def compiled(module, shape):
    """Return the kernel of a module that has one."""
    kernel = compiled_kernel(module, shape)
    assert kernel is not None
    return kernel


@st.composite
def networks(draw):
    """A network of convolutions, pooling and linear layers, the shape of its input, its classes."""
    channels, side = draw(st.sampled_from([1, 3])), draw(st.integers(9, 14))
    shape, before = (channels, side, side), channels
    layers: list[nn.Module] = []
    for _ in range(draw(st.integers(0, 2))):
        outputs = draw(st.integers(1, 8) | st.integers(9, 70))  # few are computed otherwise
        kernel = draw(st.sampled_from([1, 2, 3]))
        padding = draw(st.integers(0, kernel - 1))
        if side + 2 * padding - kernel + 1 < 2:
            break
        bias = draw(st.booleans())
        layers.append(nn.Conv2d(before, outputs, kernel, padding=padding, bias=bias))
        side, before = side + 2 * padding - kernel + 1, outputs
        order = draw(st.permutations(["relu", "pool"]))
        for name in order[: draw(st.integers(0, 2))]:
            if name == "relu":
                layers.append(nn.ReLU())
            elif side >= 2:
                layers.append(nn.MaxPool2d(2))
                side //= 2
    width = before * side * side
    layers.append(nn.Flatten())
    for _ in range(draw(st.integers(0, 2))):
        units = draw(st.integers(1, 70))
        layers += [nn.Linear(width, units, bias=draw(st.booleans()))]
        layers += draw(st.lists(st.sampled_from([nn.ReLU(), nn.Sigmoid(), nn.Tanh()]), max_size=2))
        width = units
    classes = draw(st.integers(2, 20))
    return nn.Sequential(*layers, nn.Linear(width, classes)), shape, classes


@settings(max_examples=30)
@given(networks(), st.integers(0, 2**32))
def test_logits_of_any_network_are_those_of_torch(network, seed):
    module, shape, _ = network
    x = torch.randn(7, *shape, generator=torch.Generator().manual_seed(seed))
    params = torch.cat([p.detach().flatten() for p in module.parameters()])
    rows = np.array([3, 0, 6, 6, 1])
    found = compiled(module, shape).logits(params, x, rows)
    with torch.no_grad():
        torch.testing.assert_close(found, module(x[rows]), rtol=1e-4, atol=1e-5)


@settings(max_examples=30)
@given(networks(), st.integers(0, 2**32))
def test_a_step_of_any_network_is_that_of_torch(network, seed):
    module, shape, classes = network
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.05, generator=generator)
    task = make_task(Layers(layers=tuple(module)), [6], shape, classes=classes)
    [order] = make_orders([6], Plan(steps=1))
    start = torch.cat([p.detach().flatten() for p in module.parameters()])
    [lane] = lanes_of(task, [order], start.numpy())
    found = compiled(module, shape).run([lane], task.data.x, task.data.y, task.training)
    optimizer = torch.optim.SGD(module.parameters(), lr=float(lane.segment.rates[0]))
    rows = torch.from_numpy(lane.segment.rows)
    loss = nn.functional.cross_entropy(module(task.data.x[rows]), task.data.y[rows])
    loss.backward()
    optimizer.step()
    expected = torch.cat([p.detach().flatten() for p in module.parameters()])
    torch.testing.assert_close(found.params[0], expected, rtol=1e-4, atol=1e-5)
    assert found.losses[0] == pytest.approx(len(rows) * loss.item(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(dropout=0.3),
        Convolutional(dropout=0.5),
        *(models.parse(name) for name in ("dp3s_cnn", "fedacs_cnn", "fedcor_mlp")),
        Layers(layers=(nn.Conv2d(1, 7, 4, padding=2), nn.Flatten(), nn.Linear(7 * 29 * 29, 10))),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_instruction_set_computes_the_same_bits(model, monkeypatch):
    shape = (1, 28, 28)
    task = make_task(model, SIZES, shape)
    lanes = lanes_of(task, make_orders(SIZES, Plan(steps=2)), initial(task))
    kernel = compiled(build(model, shape, task.classes), shape)
    native = ctypes.CDLL(library.path())
    found = []
    for level in library.levels(native):
        monkeypatch.setattr(
            "simfl.training.kernels.compiled.library",
            lambda level=level: library.Library(native, level),
        )
        progress = kernel.run(lanes, task.data.x, task.data.y, task.training)
        found.append((torch.stack(progress.params).numpy().tobytes(), *progress.losses))
    assert len(set(found)) == 1


@pytest.mark.parametrize("batch", [8, 13])
@pytest.mark.parametrize(("classes", "inputs"), [(2, 3), (8, 20), (9, 21), (10, 60), (16, 69)])
@pytest.mark.parametrize("sigmoid", [False, True])
def test_a_single_layer_has_the_bits_of_any_network(classes, inputs, sigmoid, batch, monkeypatch):
    layers = [nn.Linear(inputs, classes, bias=classes != 9), *[nn.Sigmoid()] * sigmoid]
    model = Layers(layers=tuple(layers))
    loss = CrossEntropy(label_smoothing=0.1 * sigmoid)
    native, found = ctypes.CDLL(library.path()), []
    for level in library.levels(native):
        monkeypatch.setattr(
            "simfl.training.kernels.compiled.library",
            lambda level=level: library.Library(native, level),
        )
        for clip in (None, 1e9):  # who clips, if only in theory, takes the way of all networks
            training = LocalTraining(batch, Sgd(lr=0.1, clip=clip), loss=loss)
            task = make_task(model, SIZES, (inputs,), classes, training)
            lanes = lanes_of(task, make_orders(SIZES), initial(task))
            kernel = compiled(build(model, task.shape, classes), task.shape)
            progress = kernel.run(lanes, task.data.x, task.data.y, training)
            bits = [part.numpy().tobytes() for part in progress.params]
            found.append((*bits, *progress.losses, *progress.squares))
    assert len(set(found)) == 1


@pytest.mark.parametrize("outputs", range(1, 9))
@pytest.mark.parametrize("pool", [1, 2, 3])
def test_few_outputs_have_the_same_bits_as_among_many(outputs, pool):
    shape, side = (3, 11, 11), (11 + 4 - 2) // pool
    few = nn.Conv2d(3, outputs, 3, padding=2)
    many = nn.Conv2d(3, 20, 3, padding=2)
    head, wide_head = nn.Linear(outputs * side**2, 4), nn.Linear(20 * side**2, 4)
    with torch.no_grad():
        for own, others in zip(few.parameters(), many.parameters(), strict=True):
            others[:outputs] = own
        wide_head.weight.zero_()[:, : head.in_features] = head.weight
        wide_head.bias.copy_(head.bias)
    x = torch.randn(5, *shape, generator=torch.Generator().manual_seed(outputs))
    found = []
    for parts in ((few, head), (many, wide_head)):
        pooled = [nn.MaxPool2d(pool)] if pool > 1 else []
        module = nn.Sequential(parts[0], nn.ReLU(), *pooled, nn.Flatten(), parts[1])
        params = torch.cat([p.detach().flatten() for p in module.parameters()])
        found.append(compiled(module, shape).logits(params, x, np.arange(5)))
    assert torch.equal(*found)


@settings(max_examples=30)
@given(
    pictures=st.sampled_from(
        [
            (Perceptron(), (1, 9, 12)),
            (Perceptron(), (3, 5, 4)),
            (Convolutional(), (3, 8, 8)),
            (FEW, (3, 7, 8)),
        ]
    ),
    crop=st.integers(0, 20),
    flip=st.booleans(),
    border=st.sampled_from([(), (0.7,), (0.5, -1.5, 2.0)]),
)
def test_pictures_changed_on_their_way_in_train_as_if_they_were_changed_before(
    pictures, crop, flip, border
):
    model, shape = pictures
    how = Augmentation(crop, flip, border[: shape[0]])
    as_it_is = LocalTraining(4, Sgd(lr=0.1))
    training = replace(as_it_is, augmentation=how)
    task = make_task(model, SIZES, shape, training=training)
    lanes = lanes_of(task, make_orders(SIZES, Plan(full_epochs=2)), initial(task))
    kernel = compiled(build(model, shape, task.classes), shape)
    found = kernel.run(lanes, task.data.x, task.data.y, training)
    for index, lane in enumerate(lanes):
        rows = torch.from_numpy(lane.segment.rows)
        changed = Augmenter(how, lane.segment)(task.data.x[rows], 0)
        segment = replace(lane.segment, rows=np.arange(len(rows)))
        [expected] = kernel.run(
            [replace(lane, segment=segment)], changed, task.data.y[rows], as_it_is
        ).params
        assert torch.equal(found.params[index], expected)


def test_a_library_of_another_version_is_refused(monkeypatch):
    class More(ctypes.Structure):
        _fields_ = (("more", library.Clients), ("field", ctypes.c_void_p))

    monkeypatch.setattr(library, "Clients", More)
    library.library.cache_clear()
    with pytest.raises(ImportError, match="another version: run `pip install"):
        library.library()


@pytest.mark.parametrize("classes", [1, 2, 3, 10, 101])
def test_answers_are_judged_as_by_torch(classes, monkeypatch):
    kernel = compiled(nn.Linear(20, classes), (20,))
    logits = torch.randint(-90, 90, (19, classes), generator=torch.Generator().manual_seed(0))
    logits, labels = logits.float(), torch.arange(19) % classes
    logits[3], logits[4, -1], logits[5, 0] = 2.5, torch.inf, torch.nan
    logits[6] = -torch.inf
    native, found = ctypes.CDLL(library.path()), []
    for level in library.levels(native):
        monkeypatch.setattr(
            "simfl.training.kernels.compiled.library",
            lambda level=level: library.Library(native, level),
        )
        losses, hits = kernel.judge(logits, labels)
        found.append((losses.tobytes(), hits.numpy().tobytes()))
    assert len(set(found)) == 1
    expected = functional.cross_entropy(logits, labels, reduction="none").double()
    torch.testing.assert_close(torch.from_numpy(losses), expected, equal_nan=True)
    assert torch.equal(hits, logits.argmax(1) == labels)


@pytest.mark.parametrize("label", [-1, 5])
def test_a_label_beyond_the_classes_is_refused_where_it_is_judged(label):
    kernel = compiled(nn.Linear(20, 5), (20,))
    with pytest.raises(InputError, match="from 0 to 4"):
        kernel.judge(torch.zeros(2, 5), torch.tensor([0, label]))


@pytest.mark.parametrize("label", [-1, 5])
def test_a_label_beyond_the_classes_is_refused_where_it_is_trained_on(label):
    task = make_task(Perceptron(), [8, 8], (20,))
    lanes = lanes_of(task, make_orders([8], Plan(full_epochs=3)), initial(task))
    labels = task.data.y.clone()
    trained = lanes[0].segment.rows
    labels[np.setdiff1d(np.arange(len(labels)), trained)] = label
    kernel = compiled(build(task.model, (20,), task.classes), (20,))
    kernel.run(lanes, task.data.x, labels, task.training)
    labels[trained[0]] = label
    with pytest.raises(InputError, match="from 0 to 4"):
        kernel.run(lanes, task.data.x, labels, task.training)


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Conv2d(1, 2, 3, stride=2), nn.Flatten(), nn.Linear(18, 5)],
        [nn.Conv2d(1, 2, 3, padding=(0, 1)), nn.Flatten(), nn.Linear(96, 5)],
        [nn.Conv2d(1, 2, 3, padding_mode="reflect", padding=1), nn.Flatten(), nn.Linear(128, 5)],
        [nn.Conv2d(1, 2, 3), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(18, 5)],
        [nn.Conv2d(1, 2, 3), nn.MaxPool2d(3, stride=1), nn.Flatten(), nn.Linear(32, 5)],
        [nn.Conv2d(1, 2, 3), nn.GroupNorm(1, 2), nn.Flatten(), nn.Linear(72, 5)],
        [nn.Flatten(), nn.Linear(64, 5), nn.Softmax(1)],
    ],
    ids=lambda layers: " ".join(type(layer).__name__ for layer in layers),
)
def test_what_it_can_not_run_is_left_to_others(layers):
    module = nn.Sequential(*layers)
    assert network_of(module, (1, 8, 8)) is None
    assert not isinstance(choose_kernel(module, (1, 8, 8), LocalTraining(8, Sgd())), CompiledKernel)


def test_shared_weights_are_left_to_others():
    twice = nn.Linear(6, 6)
    assert network_of(nn.Sequential(twice, nn.ReLU(), twice), (6,)) is None


def test_a_layer_of_many_weights_is_left_to_pytorch():
    with torch.device("meta"):
        assert network_of(nn.Linear(2048, 1024), (2048,)) is not None
        assert network_of(nn.Linear(2048, 1025), (2048,)) is None
