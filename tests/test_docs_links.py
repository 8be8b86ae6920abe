"""Links of the repository's pages lead somewhere: to a file, and to a heading in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.markdown import anchors, links

ROOT = Path(__file__).parents[1]
_NOT_OURS = ("build", "dist", "runs", "data")


def pages() -> Iterator[Path]:
    """Yield every Markdown file that is not built, downloaded or installed."""
    for folder, inner, files in os.walk(ROOT):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in _NOT_OURS]
        yield from (Path(folder) / file for file in files if file.endswith(".md"))


def test_links_lead_somewhere() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {path}#{anchor}"
        for page in pages()
        for path, anchor in links(page.read_text(encoding="utf-8"))
        if not leads_somewhere(page, path, anchor)
    ]
    assert not wrong


def leads_somewhere(page: Path, path: str, anchor: str) -> bool:
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8"))


def test_there_are_pages() -> None:
    assert {ROOT / "README.md", ROOT / "docs" / "design.md"} <= set(pages())


@pytest.mark.parametrize(("path", "anchor"), [("gone.md", ""), ("", "nowhere"), ("b.md", "c")])
def test_a_link_astray_is_found(path: str, anchor: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Here")
    (tmp_path / "b.md").write_text("# There\n```\n# c\n```")
    assert not leads_somewhere(tmp_path / "a.md", path, anchor)
    assert leads_somewhere(tmp_path / "a.md", "b.md", "there")
