"""Defaults that depend on whose experiments are to be reproduced."""

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from simfl.components.selectors.base import Selector


class WithPresets(Selector, ABC):
    """A selector whose option `preset` says whose defaults the other options have."""

    presets: ClassVar[dict[str, dict[str, Any]]]

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, options: Any) -> Any:
        """Fill in what the preset sets; what is not understood is left for pydantic to tell."""
        if not isinstance(options, Mapping):
            return options
        name = options.get("preset", cls.model_fields["preset"].default)
        return {**(cls.presets.get(name, {}) if isinstance(name, str) else {}), **options}
