"""Text for a terminal: tables and sentences of its width, without colours or markup."""

import io
import textwrap
from collections.abc import Sequence

from simfl.report.text_columns import fitting, longest, table_width, width_of
from simfl.report.width import text_width


class TextPage:
    """What a command prints, put together piece by piece; `str` gives all of it.

    Attributes:
        width: columns of the widest line.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self.width, self._file = text_width(), io.StringIO()
        self._console = Console(
            file=self._file, width=self.width, highlight=False, markup=False, color_system=None
        )

    def table(
        self,
        columns: Sequence[Sequence[str]],
        title: str | None = None,
        *,
        whole_names: bool = False,
    ) -> None:
        """Add a table: names on the left, all else on the right; what has no room is folded.

        Args:
            columns: each its head, then its cells; the first has the names.
            title: stands above it.
            whole_names: whether names are cut rather than folded.
        """
        from rich import box
        from rich.table import Table

        (name, *_), *others = columns
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(name, overflow="ellipsis" if whole_names else "fold", no_wrap=whole_names)
        for head, *_ in others:
            table.add_column(head, justify="right", overflow="fold")
        for row in list(zip(*columns, strict=True))[1:]:
            table.add_row(*row)
        self._console.print(table)

    def tables(self, columns: Sequence[Sequence[str]], title: str = "") -> None:
        """Add a table as several that are no wider than the page, so that no cell need be broken.

        Args:
            columns: as of `table`; heads may be broken between words.
            title: stands above the first, and says of the others that they continue it.
        """
        for number, shown in enumerate(fitting(columns, self.width)):
            if table_width(max(map(longest, column)) for column in shown) > self.width:
                shown = [[textwrap.fill(c[0], width_of(c)), *c[1:]] for c in shown]
            self.table(shown, f"{title}, continued" if number and title else title or None)

    def line(self, text: str) -> None:
        """Add a line, or several where it is too long for one."""
        self._console.print(text)

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in self._file.getvalue().splitlines())
