"""Options beside a name, as scenarios write them: errors inside them, and a mark in the schema."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

NESTED = "component_options"
"""Type of the pydantic error that carries a component's own errors, for the reader to unfold."""
COMPONENT = "x-component"
"""Stands in a JSON Schema for one kind of component until all of them are written out."""


def nested(message: str, model: type[BaseModel], error: ValidationError) -> PydanticCustomError:
    """Return the error that carries what is wrong with the options of a `model`."""
    errors = error.errors(include_url=False)
    return PydanticCustomError(
        NESTED, "{message}", {"message": message, "model": model, "errors": errors}
    )


def glued_name(options: Mapping[Any, Any]) -> str:
    """Return the key that has a component's name in it, such as ``name:sgd`` ("": there is none).

    YAML takes it for one where no space follows the colon.
    """
    return next((key for key in map(str, options) if re.match(r"name[:=]\S", key)), "")
