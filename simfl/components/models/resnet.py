"""Residual networks with group normalisation, ResNet-18 for CIFAR's pictures by default.

He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.  Group normalisation (Wu & He,
ECCV 2018) in place of batch normalisation as in Hsieh et al., ICML 2020; two groups as in Reddi et
al., ICLR 2021 (docs/algorithms.md, E).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.initial import Initialisation, initialise
from simfl.components.models.shapes import require_picture
from simfl.core.circumstances import Circumstances

if TYPE_CHECKING:
    from torch import nn


@models.register("resnet")
class ResNet(Model):
    """ResNet-18 with group normalisation, for 32 x 32 pixels; 11,173,962 parameters on CIFAR-10.

    Each stage after the first halves height and width and doubles the channels.  ResNet-34 is
    ``{blocks: [3, 4, 6, 3]}``, ResNet-20 ``{blocks: [3, 3, 3], channels: 16}``, ResNet-50 ``{block:
    bottleneck, blocks: [3, 4, 6, 3]}`` (for 224 x 224 pixels with ``stem: 7x7``), ResNet-101 and
    ResNet-152 have ``[3, 4, 23, 3]`` and ``[3, 8, 36, 3]``.
    """

    block: Literal["basic", "bottleneck"] = Field(
        "basic",
        description="basic: two 3x3 convolutions; bottleneck: one between two 1x1 ones, the last "
        "with four times the channels",
    )
    blocks: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (2, 2, 2, 2), min_length=1, description="residual blocks of each stage"
    )
    channels: int = Field(
        64, ge=1, description="channels of the first stage; with bottlenecks, of its 3x3 ones"
    )
    groups: int = Field(
        2,
        ge=1,
        description="parts of a layer's channels that are normalised separately; 1: layer "
        "normalisation",
    )
    stem: Literal["3x3", "7x7"] = Field(
        "3x3",
        description="what comes before the blocks. 3x3: a convolution that keeps the size, for "
        "pictures of 32 pixels; 7x7: one of stride 2 and max-pooling, for those of 224",
    )
    init: Initialisation = Field(
        "pytorch", description="how weights are drawn: PyTorch's default, He's or Glorot's"
    )

    @model_validator(mode="after")
    def _divides_channels(self) -> Self:
        if self.channels % self.groups:
            raise ValueError(f"groups ({self.groups}) must divide channels ({self.channels})")
        return self

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        self._check(circumstances.shape)
        yield from super().objections(circumstances)

    def _check(self, shape: tuple[int, ...]) -> None:
        least = 2 ** (len(self.blocks) - 1) * (4 if self.stem == "7x7" else 1)
        require_picture(self.name, shape, least)

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        from simfl.components.models.modules.residual_block import basic, bottleneck

        self._check(shape)
        make, wider = (basic, 1) if self.block == "basic" else (bottleneck, 4)
        side, stride = (7, 2) if self.stem == "7x7" else (3, 1)
        width = self.channels
        layers: list[nn.Module] = [
            nn.Conv2d(shape[0], width, side, stride, padding=side // 2, bias=False),
            nn.GroupNorm(self.groups, width),
            nn.ReLU(),
        ]
        if self.stem == "7x7":
            layers.append(nn.MaxPool2d(3, stride=2, padding=1))
        for stage, blocks in enumerate(self.blocks):
            inside = self.channels * 2**stage
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                layers.append(make(width, inside, stride, self.groups))
                width = wider * inside
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)]
        module = nn.Sequential(*layers)
        initialise(module, self.init)
        return module
