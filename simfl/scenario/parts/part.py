"""The base of every part of a scenario."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
"""A whole number of at least one (and of a size that a computer can count to)."""

NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._+=()-]*$"
Name = Annotated[str, Field(pattern=NAME, max_length=100)]
"""What can be in the name of a folder on any system, or be a column's value."""
_DEVICES = {"con", "prn", "aux", "nul"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in range(10)
}


def _portable(name: str) -> str:
    if name.endswith((".", " ")):
        end = "a dot" if name.endswith(".") else "a space"
        raise ValueError(f"expected a name that a folder can have anywhere: {name!r} ends in {end}")
    if (stem := name.partition(".")[0]).rstrip().lower() in _DEVICES:
        raise ValueError(
            f"expected a name that a folder can have anywhere: {stem!r} is a device on Windows"
        )
    return name


FolderName = Annotated[Name, AfterValidator(_portable)]
"""What can be the name of a folder on any system."""


def distinct_folders(names: dict[str, Any]) -> dict[str, Any]:
    """Return what has `names`, unless two of these are one folder where case makes none.

    Raises:
        ValueError: naming both.
    """
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(name.lower(), name)) != name:
            raise ValueError(
                f"{other!r} and {name!r} differ in case alone: one folder on macOS and Windows"
            )
    return names


class WorkedOut:
    """Marks a key that is worked out where it is not written: its description says how."""


WORKED_OUT = WorkedOut()


class Part(BaseModel):
    """Immutable, and intolerant of unknown keys and of what is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
