"""What the cookbook's and the first steps' pages say works as it stands, in an empty folder.

A block with a title is a file; `sh` blocks are commands, Python blocks without a title are run, all
in order.  `<!-- test: OPTIONS -->` before a block makes its first command shorter.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from simfl.cli import main

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "start.md", *sorted((DOCS / "cookbook").glob("*.md"))]
NEEDS = {"flower": "flwr"}
SLOW = {"sweep", "start", "fork", "deadline", "served"}
_BLOCK = re.compile(
    r"(?:^<!-- test: (?P<options>[^\n]*) -->\n)?"
    r'^```(?P<language>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```',
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    file: str | None
    text: str
    options: list[str]


def blocks(page: Path) -> Iterator[Block]:
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        options = shlex.split(match["options"] or "")
        yield Block(match["language"], match["file"], match["text"], options)


def follow(block: Block) -> None:
    """Do what a block says, in the working directory."""
    if block.file is not None:
        Path(block.file).write_text(block.text, encoding="utf-8")
    elif block.language == "python":
        exec(compile(block.text, "page.py", "exec"), {"__name__": "page"})
    elif block.language == "sh":
        extra = block.options
        for line in block.text.splitlines():
            program, *words = shlex.split(line)
            assert program == "simfl"
            assert main([*words, *extra]) == 0, line
            extra = []
    else:
        raise AssertionError(f"nobody follows a block of {block.language}")


@pytest.mark.filterwarnings("ignore")  # not ours: Optuna's and matplotlib's
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW)) for page in PAGES],
    ids=lambda page: page.stem,
)
def test_a_page_works_as_it_stands(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        follow(block)
    assert "error" not in capsys.readouterr().err


def test_pages_are_listed() -> None:
    index = (DOCS / "cookbook" / "index.md").read_text()
    assert all(f"({page.name})" in index for page in PAGES[1:] if page.stem != "index")


def test_a_scenario_that_is_in_the_repository_too() -> None:
    committed = (DOCS.parent / "scenarios" / "personal_layers.yaml").read_text(encoding="utf-8")
    scenario = next(blocks(DOCS / "cookbook" / "personal_layers.md"))
    assert committed.endswith(scenario.text)


def test_a_failing_command_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="gone"):
        follow(Block("sh", None, "simfl validate gone.yaml\n", []))
