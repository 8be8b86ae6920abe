"""Pieces of HTML: tables, and cells that hold a mean over seeds."""

import math
from collections.abc import Callable, Sequence
from html import escape

from simfl.report import formats


def cell(text: str, css: str = "") -> str:
    """Return a table cell."""
    return f'<td class="{css}">{escape(text)}</td>' if css else f"<td>{escape(text)}</td>"


def code(text: str, css: str = "text") -> str:
    """Return a table cell with something to be copied."""
    return f'<td class="{css}"><code>{escape(text) or formats.NOTHING}</code></td>'


def mean_cell(values: Sequence[float], text: Callable[[float], str], *, best: bool = False) -> str:
    """Return a table cell with the mean over seeds, their spread, and how many have a value.

    Args:
        values: one a seed (NaN: it has none).
        text: writes a number.
        best: whether it is the best of its column.
    """
    there = [value for value in values if math.isfinite(value)]
    if not there:
        return cell(formats.NOTHING, "none")
    mean = math.fsum(there) / len(there)
    told = escape(text(mean))
    if len(there) > 1:
        spread = math.sqrt(math.fsum((v - mean) ** 2 for v in there) / (len(there) - 1))
        told += f' <span class="sd">± {escape(text(spread))}</span>' if spread else ""
    if len(there) < len(values):
        told += f' <span class="sd">({len(there)} of {len(values)})</span>'
    return f'<td class="best">{told}</td>' if best else f"<td>{told}</td>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str] = ()) -> str:
    """Return a table.

    Args:
        heads: of the columns.
        rows: of cells, as HTML.
        words: heads of the columns that hold text, beside the first.
    """
    head = "".join(
        f'<th class="text">{escape(text)}</th>' if text in words else f"<th>{escape(text)}</th>"
        for text in heads
    )
    return table_of(f"<tr>{head}</tr>", rows)


def table_of(head: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table under head rows given as HTML; one too wide for the page scrolls."""
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
