"""The base of every part of a scenario."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=1)]
"""A whole number of at least one."""


class Part(BaseModel):
    """Immutable, and intolerant of unknown keys and of numbers that are none."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
