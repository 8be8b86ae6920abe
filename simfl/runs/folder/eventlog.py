"""Lines of the event log: what they say, as JSON."""

import json
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from simfl.core.rows import COLUMNS, ClientRow, RoundRow
from simfl.errors import RunError


def encode(time_s: float, kind: str, facts: dict[str, Any]) -> str:
    """Return the log line of one event; NaN and infinity become null.

    The line is what `json.dumps` makes of ``{"t": ..., "event": ..., **facts}``, at a third of the
    cost: a large fleet logs thousands of small events a round.
    """
    values = [_TEXTS[type(value)](value) for value in facts.values()]
    return _form(kind, tuple(facts)) % (_text(time_s), *values)


def encode_row(time_s: float, kind: str, row: RoundRow | ClientRow) -> tuple[str, list[Any]]:
    """Return the log line of an event that is a row, and the row's cells, numbers as text."""
    columns = COLUMNS[type(row)]
    values = columns.values(row)
    texts, cells = [], []
    for value in values:
        of_kind = type(value)
        text = _TEXTS[of_kind](value)
        texts.append(text)
        # A number takes longest to become text, and does it once.
        cells.append(text if of_kind is float and value - value == 0.0 else value)
    return _form(kind, columns.names) % (_text(time_s), *texts), cells


@lru_cache(maxsize=1024)
def _form(kind: str, names: tuple[str, ...]) -> str:
    """Return the line of an event of this `kind`, with a gap for the time and for each fact."""
    facts = "".join(f",{json.dumps(name)}:\0" for name in names)
    line = f'{{"t":\0,"event":{json.dumps(kind)}{facts}}}'
    return line.replace("%", "%%").replace("\0", "%s")  # no text in JSON has a NUL


_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_RAW_DECODE = json.JSONDecoder().raw_decode


def _number(value: float) -> str:
    # `x - x` is zero unless x is infinite or no number.
    return float.__repr__(value) if value - value == 0.0 else "null"


def _other(value: Any) -> str:
    try:
        return _JSON.encode(value)
    except ValueError:
        return _JSON.encode(finite(value))


def _list(values: list[Any]) -> str:
    # Mostly there is one, or none, where clients come singly.
    if len(values) == 1:
        return f"[{_text(values[0])}]"
    return _other(values) if values else "[]"


class _Texts(dict[type, Callable[[Any], str]]):
    """How values are written, by their type."""

    def __missing__(self, kind: type) -> Callable[[Any], str]:
        return _other


_TEXTS = _Texts(
    {
        float: _number,
        int: int.__repr__,
        str: json.encoder.encode_basestring_ascii,
        type(None): lambda _: "null",
        list: _list,
        dict: lambda facts: _other(facts) if facts else "{}",
    }
)


def _text(value: Any) -> str:
    return _TEXTS[type(value)](value)


def finite(value: Any) -> Any:
    """Return plain data with None for every number that is not finite: JSON has none of these."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _parsed(line: str) -> Any:
    """Return what `json.loads` does, which looks for white space around it each time."""
    try:
        value, end = _RAW_DECODE(line)
    except ValueError:
        end = -1
    return value if end == len(line) else json.loads(line)


def decode(line: str) -> dict[str, Any]:
    """Return the event of a log line.

    Raises:
        RunError: it is none.
    """
    try:
        event: dict[str, Any] = _parsed(line)
        sound = isinstance(event["event"], str) and isinstance(event["t"], int | float)
    except (ValueError, TypeError, KeyError, RecursionError):
        sound = False
    if not sound:
        raise RunError(f"the event log is damaged: {line[:80]!r} is no event")
    return event
