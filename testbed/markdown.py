"""How the comparison's tables are written: Markdown, names of scenarios, signed errors."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

Result = dict[str, Any]


def table(title: str, columns: Iterable[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with its title; nothing where it has no rows."""
    if not rows:
        return ""
    head = ["scenario", *columns]
    lines = [head, ["---"] * len(head), *rows]
    return f"**{title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def name_of(result: Result) -> str:
    """Return what tables call the scenario."""
    return str(result["name"]).removeprefix("testbed-").replace("-", " ")


def signed(share: float | None) -> str:
    """Return an error in percent; nothing where there is none."""
    return "" if share is None or math.isnan(share) else f"{share:+.1%}"
