"""Numbers that follow how much data a device holds."""

from typing import Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.errors import InputError
from simfl.scenario.distributions.base import Draw, Parameter, check_order


class DataSize(Draw):
    """In proportion to how much data a device holds (FedCore's authors' capabilities).

    ``mean + std * (correlation * z + sqrt(1 - correlation^2) * e)`` with z the device's
    standardised number of training samples (population standard deviation over all devices of the
    fleet) and e a standard normal number of its own; see docs/algorithms.md, F.1.  `min` and `max`
    clip here.
    """

    distribution = "data_size"
    mean: Parameter = Field(description="of a device with a mean number of samples")
    std: Parameter = Field(description="standard deviation, as in the formula above")
    correlation: float = Field(1.0, ge=-1, le=1, description="of the number with the data size")
    min: Parameter | None = Field(None, description="clip below")
    max: Parameter | None = Field(None, description="clip above")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_order(self.min, self.max)
        return self

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        from scipy.special import ndtri

        sizes = np.asarray(samples, dtype=np.float64)
        spread = sizes.std()
        z = (sizes - sizes.mean()) / spread if spread > 0 else np.zeros(len(sizes))
        if abs(self.correlation) < 1:
            z = self.correlation * z + np.sqrt(1 - self.correlation**2) * ndtri(u)
        else:
            z = self.correlation * z
        low = -np.inf if self.min is None else self.min
        high = np.inf if self.max is None else self.max
        values: Floats = np.clip(self.mean + self.std * z, low, high)
        return values

    @override
    def check(self, values: Floats, samples: Ids) -> None:
        if values.min(initial=np.inf) < 0 or (self._dimension.positive and not values.all()):
            raise InputError(
                f"a data_size distribution gives {values.min():.4g} {self.unit} to a device with "
                f"{samples[values.argmin()]} samples; give it a `min`"
            )

    @override
    def lowest(self) -> float:
        """What the sizes allow is only known once there are data."""
        return np.finfo(float).tiny
