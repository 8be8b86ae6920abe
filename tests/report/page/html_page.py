"""A page's text, tables and addresses, and what its script is given."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = {"meta", "br", "img", "link", "input", "hr", "wbr"}


class Checker(HTMLParser):
    """Fails on tags that do not match; collects text, tables and addresses."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)
        if any(tag in ("td", "th") for tag in self.open):
            self.cells[-1] += data


def check(path: Path) -> Checker:
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    return checker


def island(page: str) -> dict[str, Any]:
    """Return what the page's script is given."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data is not None
    charts: dict[str, Any] = json.loads(data[1])
    return charts
