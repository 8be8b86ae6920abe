"""Updates that point the other way (Li et al., "RSA", AAAI 2019, arXiv:1811.03761, section 5)."""

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.attacks.base import Attack, Update, attacks
from simfl.core.types import Rng


@attacks.register("sign_flip")
class SignFlip(Attack):
    """Sends ``-scale`` times its update."""

    scale: float = Field(1.0, gt=0, description="how much longer than the honest update it is")

    @override
    def forge(self, update: Update, rng: Rng) -> Update:
        return -np.float32(self.scale) * update
