"""The core schema of YAML 1.2: which type plain text is of.

`on`, `off`, `yes` and `no` are text, `0o17` is octal, `1:30` is text.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

CORE = {
    "null": re.compile(r"null|Null|NULL|~|"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    ),
}
"""How plain text of each type looks (https://yaml.org/spec/1.2.2/#103-core-schema)."""
TAG = "tag:yaml.org,2002:"
"""What the tags of these types begin with."""

VALUE: Mapping[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": lambda text: int(text, {"0o": 8, "0x": 16}.get(text[:2], 10)),
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
}
"""What text of each type stands for."""
