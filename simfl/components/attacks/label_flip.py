"""Wrong labels: flipped on purpose, or noise."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from simfl.components.attacks.base import Attack, attacks
from simfl.core.apportion import whole_share
from simfl.core.circumstances import Circumstances
from simfl.core.types import Ids, Rng
from simfl.core.units import Percent


@attacks.register("label_flip")
class LabelFlip(Attack):
    """Trains on wrong classes: the opposite ones, random ones, or always the same.

    `to: opposite` takes class ``classes - 1 - y`` for y (Fang et al., USENIX Security 2020,
    arXiv:1911.11815, section 5.1); `to: random` takes another one, each equally likely (noise); a
    number takes that class for whatever it is (Tolpegin et al., ESORICS 2020).
    """

    to: Literal["opposite", "random"] | Annotated[int, Field(ge=0)] = Field(
        "opposite", description="which class is taken for the right one"
    )
    share: Annotated[Percent, Field(gt=0, le=1)] = Field(
        1.0, description="of each device's training samples, chosen at random, once"
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.targets != "classes":
            yield (
                f"attack {self.name!r} needs samples of one class each, and those of data set "
                f"{circumstances.dataset!r} have none"
            )
        elif circumstances.deals_itself:
            yield (
                f"attack {self.name!r} needs samples that are held in memory; data set "
                f"{circumstances.dataset!r} makes each client's when they are asked for"
            )
        elif isinstance(self.to, int) and self.to >= circumstances.classes:
            yield (
                f"attack {self.name!r} can't flip labels to class {self.to} of "
                f"{circumstances.classes}, which are numbered from 0"
            )

    @override
    def relabel(self, labels: Ids, classes: int, rng: Rng) -> Ids:
        chosen = rng.permutation(len(labels))[: whole_share(self.share, len(labels))]
        flipped = labels.copy()
        if self.to == "opposite":
            flipped[chosen] = classes - 1 - labels[chosen]
        elif self.to == "random":
            others = rng.integers(1, max(classes, 2), size=len(chosen))
            flipped[chosen] = (labels[chosen] + others) % classes
        else:
            flipped[chosen] = self.to
        return flipped
