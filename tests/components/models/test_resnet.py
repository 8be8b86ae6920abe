"""The residual network: that of torchvision with another stem, at the sizes that are known."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from simfl.components.models.base import models
from simfl.errors import InputError
from simfl.training.flat import build
from simfl.training.flops import forward_flops, training_flops
from tests.torchvisions import torchvisions

CIFAR = (3, 32, 32)
SMALL: dict[str, Any] = {"blocks": [1, 2], "channels": 4}


def parse(**options: Any) -> Any:
    return models.parse({"name": "resnet", **options})


@pytest.mark.parametrize("block", ["basic", "bottleneck"])
@pytest.mark.parametrize(("stem", "groups"), [("3x3", 2), ("7x7", 4)])
def test_it_is_torchvisions_with_another_norm_and_stem(block: str, stem: str, groups: int) -> None:
    resnet = torchvisions("models.resnet")
    theirs = resnet.ResNet(
        {"basic": resnet.BasicBlock, "bottleneck": resnet.Bottleneck}[block],
        [1, 2, 1, 1],
        7,
        norm_layer=lambda channels: nn.GroupNorm(groups, channels),
    )
    if stem == "3x3":
        theirs.conv1, theirs.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    ours = build(parse(block=block, blocks=[1, 2, 1, 1], groups=groups, stem=stem), CIFAR, 7)
    pairs = list(zip(ours.parameters(), theirs.parameters(), strict=True))
    with torch.no_grad():
        for own, other in pairs:
            assert own.shape == other.shape
            other.copy_(own)
        x = torch.randn((2, *CIFAR), generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ({}, 11_173_962),
        ({"blocks": [3, 4, 6, 3]}, 21_282_122),
        ({"blocks": [3, 3, 3], "channels": 16}, 272_474),
        ({"block": "bottleneck", "blocks": [3, 4, 6, 3]}, 23_520_842),
    ],
)
def test_known_sizes_on_cifar10(options: dict[str, Any], parameters: int) -> None:
    with torch.device("meta"):
        module = parse(**options).build(CIFAR, 10)
    assert sum(parameter.numel() for parameter in module.parameters()) == parameters
    assert not list(module.buffers())


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("resnet18", [2, 2, 2, 2]),
        ("resnet50", [3, 4, 6, 3]),
        ("resnet152", [3, 8, 36, 3]),
    ],
)
def test_for_imagenet_it_has_torchvisions_parameters(name: str, blocks: list[int]) -> None:
    """25,557,032 of ResNet-50: each kind of normalisation has two for each channel."""
    resnet, kind = torchvisions("models.resnet"), "basic" if name == "resnet18" else "bottleneck"
    with torch.device("meta"):
        theirs = getattr(resnet, name)()
        ours = parse(block=kind, blocks=blocks, stem="7x7").build((3, 224, 224), 1000)
    shapes = [[parameter.shape for parameter in net.parameters()] for net in (ours, theirs)]
    assert shapes[0] == shapes[1]
    count = sum(shape.numel() for shape in shapes[0])
    assert count == getattr(resnet, f"ResNet{name[6:]}_Weights").DEFAULT.meta["num_params"]


def test_its_cost_by_hand() -> None:
    """Two FLOPs per weight of a convolution and pixel that it makes; thrice that in training."""
    pixels = [32 * 32, 16 * 16]
    stem, first = 3 * 4 * 9 * pixels[0], 2 * 4 * 4 * 9 * pixels[0]
    second = (4 * 8 * 9 + 8 * 8 * 9 + 4 * 8) * pixels[1]
    third = 2 * 8 * 8 * 9 * pixels[1]
    module = build(parse(**SMALL), CIFAR, 10)
    forward = 2 * (stem + first + second + third + 8 * 10)
    assert forward_flops(module, CIFAR) == forward
    assert training_flops(module, CIFAR) == 3 * forward - 2 * stem  # needs no gradient of pictures


@pytest.mark.parametrize(
    ("options", "least"), [({}, 8), ({"stem": "7x7"}, 32), ({"blocks": [1], "channels": 4}, 1)]
)
def test_the_smallest_pictures(options: dict[str, Any], least: int) -> None:
    module = build(parse(**options), (1, least, least), 10).eval()
    assert module(torch.zeros(1, 1, least, least)).shape == (1, 10)
    for shape in ((1, least - 1, least), (1, least, least - 1), (784,)):
        with pytest.raises(InputError, match=r"model 'resnet' takes inputs of shape \(channels, "):
            parse(**options).build(shape, 10)


def test_pictures_need_be_neither_square_nor_even() -> None:
    module = build(parse(**SMALL), (2, 9, 14), 5)
    assert module(torch.zeros(3, 2, 9, 14)).shape == (3, 5)


def test_the_cost_of_a_bottleneck_by_hand() -> None:
    """The stride is that of the 3x3 convolution; the way round has it, too."""
    module = build(parse(block="bottleneck", blocks=[1, 1], channels=4), CIFAR, 10)
    stem, first = 3 * 4 * 9 * 32**2, (4 * 4 + 4 * 4 * 9 + 4 * 16 + 4 * 16) * 32**2
    second = 16 * 8 * 32**2 + (8 * 8 * 9 + 8 * 32 + 16 * 32) * 16**2
    assert forward_flops(module, CIFAR) == 2 * (stem + first + second + 32 * 10)


@pytest.mark.parametrize("block", ["basic", "bottleneck"])
def test_weights_are_drawn_as_asked(block: str) -> None:
    module = build(parse(init="kaiming_normal", block=block, **SMALL), CIFAR, 10)
    drawn = [layer for layer in module.modules() if isinstance(layer, nn.Conv2d)]
    weights = torch.cat(
        [layer.weight.flatten() * (layer.weight[0].numel() / 2) ** 0.5 for layer in drawn]
    )
    assert float(weights.detach().std()) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 3}, r"groups \(3\) must divide channels \(64\)"),
        ({"blocks": []}, "at least 1 item"),
        ({"blocks": [2, 0]}, "greater than or equal to 1"),
        ({"stem": "5x5"}, "'3x3' or '7x7'"),
        ({"block": "bottle"}, "'basic' or 'bottleneck'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        models.get("resnet")(**options)
