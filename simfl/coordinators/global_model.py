"""The model that is learnt."""

from collections.abc import Callable
from dataclasses import dataclass

from simfl.coordinators.personal import PersonalParameters
from simfl.core.evaluation import Evaluation
from simfl.core.types import Params


@dataclass(frozen=True)
class GlobalModel:
    """What is known of it throughout, whatever its present numbers are.

    Attributes:
        initial: `(p,)` where it begins, but for what is personal.
        layers: sizes of its tensors, in the order of the flat vector.
        judge: returns how good one is.
        dump: returns one as a file.
        personal: what of it clients keep to themselves (None: nothing).
    """

    initial: Params
    layers: tuple[int, ...]
    judge: Callable[[Params], Evaluation]
    dump: Callable[[Params], bytes]
    personal: PersonalParameters | None = None
