"""Defaults that depend on whose experiments are to be reproduced."""

from collections.abc import Mapping
from typing import Any


def with_preset(presets: Mapping[str, Mapping[str, Any]], options: Any, default: str) -> Any:
    """Return `options` with those that the named preset (or the default one) sets filled in.

    For a `model_validator(mode="before")`: whatever is not understood is left for pydantic to tell.
    """
    if not isinstance(options, Mapping):
        return options
    name = options.get("preset", default)
    return {**(presets.get(name, {}) if isinstance(name, str) else {}), **options}
