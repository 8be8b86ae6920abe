"""Plain data -> YAML 1.2 text that every reader of YAML takes for the same."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from simfl.scenario.language.yaml_schema import CORE, TAG


class _Dumper(yaml.SafeDumper):
    """Quotes what other readers of YAML would take for a number, a truth or a date.

    Never the C emitter: what is written must not depend on the machine.
    """

    def represent_text(self, text: str) -> Any:
        """Quote what YAML would fold or forbid, such as Unicode's line separators."""
        return self.represent_scalar(f"{TAG}str", text, style=None if text.isprintable() else '"')

    def ignore_aliases(self, data: Any) -> bool:
        """Write the same thing twice rather than refer to it."""
        return True


_Dumper.add_representer(str, _Dumper.represent_text)
for _kind, _look in CORE.items():
    _Dumper.add_implicit_resolver(TAG + _kind, re.compile(f"(?:{_look.pattern})$"), None)


def to_yaml(data: Mapping[str, Any]) -> str:
    """Return plain data as YAML, leaves in one line each; `read_yaml` gives equal data."""
    text: str = yaml.dump(
        dict(data),
        Dumper=_Dumper,
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=True,
        width=1_000_000,
    )
    return text
