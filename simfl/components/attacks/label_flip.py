"""Wrong labels: flipped on purpose, or noise."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field
from typing_extensions import override

from simfl.components.attacks.base import Attack, attacks
from simfl.core.apportion import whole_share
from simfl.core.circumstances import Circumstances
from simfl.core.types import Ids, Rng
from simfl.core.units import Percent
from simfl.core.units.share_range import ShareRange, refuse_distribution


@attacks.register("label_flip")
class LabelFlip(Attack):
    """Trains on wrong classes: the opposite ones, random ones, or always the same.

    `to: opposite` takes class ``classes - 1 - y`` for y (Fang et al., USENIX Security 2020,
    arXiv:1911.11815, section 5.1); `to: random` takes another one, each equally likely (noise); a
    number takes that class.  With `source`, one class alone is taken for another (Tolpegin et al.,
    ESORICS 2020, arXiv:2007.08432: one number for another).
    """

    to: Literal["opposite", "random"] | Annotated[int, Field(ge=0)] = Field(
        "opposite", description="which class is taken for the right one"
    )
    source: int | None = Field(
        None, ge=0, description="class whose samples get wrong labels; omitted: all"
    )
    share: Annotated[
        Annotated[Percent, Field(gt=0, le=1)] | ShareRange,
        BeforeValidator(partial(refuse_distribution, "the share of wrong labels")),
    ] = Field(
        1.0,
        description="of each device's training samples (of `source`), chosen at random, once; "
        "{min, max}: every share between these is equally likely, for each device its own",
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
        elif odd := [c for c in (self.to, self.source) if _beyond(c, circumstances.classes)]:
            yield (
                f"attack {self.name!r} can't flip labels {'to' if odd[0] == self.to else 'of'} "
                f"class {odd[0]} of {circumstances.classes}, which are numbered from 0"
            )
        elif self.to == self.source:
            yield f"attack {self.name!r} flips class {self.source} to itself, which changes nothing"

    @override
    def relabel(self, labels: Ids, classes: int, rng: Rng) -> Ids:
        rows = np.flatnonzero(labels == self.source) if self.source is not None else len(labels)
        share = self.share.at(rng.random()) if isinstance(self.share, ShareRange) else self.share
        able = rng.permutation(rows)
        chosen = able[: whole_share(share, len(able))]
        flipped = labels.copy()
        if self.to == "opposite":
            flipped[chosen] = classes - 1 - labels[chosen]
        elif self.to == "random":
            others = rng.integers(1, max(classes, 2), size=len(chosen))
            flipped[chosen] = (labels[chosen] + others) % classes
        else:
            flipped[chosen] = self.to
        return flipped


def _beyond(label: object, classes: int) -> bool:
    return isinstance(label, int) and label >= classes
