"""The base of every part of a scenario."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
"""A whole number of at least one (and of a size that a computer can count to)."""

NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._+=()-]*$"
Name = Annotated[str, Field(pattern=NAME, max_length=100)]
"""What can be the name of a folder on any system, or of a column's value."""


class Part(BaseModel):
    """Immutable, and intolerant of unknown keys and of what is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
