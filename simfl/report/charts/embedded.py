"""Numbers of charts inside a page, for its script and for readers who take them along."""

import json
import math
from collections.abc import Sequence
from typing import Any

from simfl.core.types import Floats
from simfl.report.charts.base import Drawing


def island(drawings: Sequence[Drawing]) -> str:
    """Return the numbers of charts; see `embedded`.

    Those that the script draws have them under their names, the others a table under their titles.
    """
    drawn = {d.data["name"]: d.data for d in drawings if d.data}
    tables = {d.title: [[_short(v) for v in row] for row in d.table] for d in drawings if d.table}
    return embedded(drawn | tables)


def embedded(value: Any) -> str:
    """Return plain data as JSON that can stand inside a page."""
    text = json.dumps(value, separators=(",", ":"))
    # Nothing in it may end the element that holds it.
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def short_numbers(values: Floats) -> list[float | None]:
    """Return `(n,)` numbers as a page has them: six digits each; None: one that is not finite."""
    return [_short(v) for v in values.tolist()]


def _short(value: Any) -> Any:
    """Return a number as a page has it: six digits, or nothing; what is none stays as it is."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None
