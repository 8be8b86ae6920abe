import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.errors import InputError
from simfl.training.features import CHUNK, sample_features
from simfl.training.flat import build
from tests.training.learning_stubs import Logistic, Perceptron, Reader, make_task, stack

M = CHUNK + 5


def data(shape=(20,), tokens=False):
    task = make_task(Logistic(), [M], shape, tokens=tokens)
    return task.data.x[:M], task.data.y[:M]


def per_sample_gradients(module, parameters, x, y):
    rows = []
    for i in range(len(x)):
        loss = F.cross_entropy(module(x[i : i + 1]), y[i : i + 1])
        parts = torch.autograd.grad(loss, parameters)
        rows.append(torch.cat([part.reshape(-1) for part in parts]).numpy())
    return np.array(rows)


@pytest.mark.parametrize(
    ("model", "shape", "tokens"),
    [
        (Perceptron(dropout=0.5), (20,), False),
        (Logistic(sigmoid=True), (20,), False),
        (Reader(), (6,), True),
    ],
)
def test_last_layer_gradient_is_that_of_autograd(model, shape, tokens):
    x, y = data(shape, tokens)
    module = build(model, shape, 5).eval()
    last = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1]
    features = sample_features("last_layer_gradient", module.train(), CrossEntropy(), x, y)
    expected = per_sample_gradients(module, [last.bias, last.weight], x, y)
    assert features.shape == (M, 5 * (last.in_features + 1))
    assert np.allclose(features, expected, atol=1e-6)


def test_logit_and_input_gradients():
    x, y = data()
    module = stack(Perceptron(), (20,), 5).eval()
    logits = module(x).detach()
    delta = (torch.softmax(logits, 1) - F.one_hot(y, 5)).detach().numpy()
    assert np.allclose(
        sample_features("logit_gradient", module, CrossEntropy(), x, y), delta, atol=1e-6
    )
    to_input = sample_features("input_gradient", module, CrossEntropy(), x, y)
    assert np.allclose(
        to_input, delta @ module[-1].get_parameter("weight").detach().numpy(), atol=1e-6
    )
    with torch.no_grad():
        hidden = module[:-1](x)
    outer = np.einsum("mc,mh->mch", delta, hidden.numpy()).reshape(M, -1)
    whole = sample_features("last_layer_gradient", module, CrossEntropy(), x, y)
    assert np.allclose(whole, np.hstack([delta, outer]), atol=1e-6)


def test_inputs_and_none():
    x, y = data((4, 5))
    module = build(Perceptron(), (4, 5), 5)
    assert np.array_equal(
        sample_features("inputs", module, CrossEntropy(), x, y), x.reshape(M, 20).numpy()
    )
    assert sample_features("none", module, CrossEntropy(), x, y).shape == (M, 0)


def test_models_without_a_last_linear_layer_are_refused():
    x, y = data()
    with pytest.raises(InputError, match="ends in a linear layer"):
        sample_features("last_layer_gradient", nn.Sequential(nn.ReLU()), CrossEntropy(), x, y)


def test_features_of_a_client_do_not_depend_on_others():
    x, y = data()
    module = build(Perceptron(), (20,), 5)
    some = sample_features("last_layer_gradient", module, CrossEntropy(), x[:50], y[:50])
    copy = sample_features(
        "last_layer_gradient", module, CrossEntropy(), x[:50].clone(), y[:50].clone()
    )
    assert some.tobytes() == copy.tobytes()
