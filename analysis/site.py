"""The pages of the documentation's site: those of docs/, and what is generated from the code.

    python -m analysis.site build/pages        # then: mkdocs build --strict

The first page is the README.  Of the scenario language, the output columns, the components and the
commands nothing is written twice: their pages are made from where they are declared.  Files of the
repository that a page links to come along; links to folders become plain text.
"""

import argparse
import os
import re
import shutil
from pathlib import Path

from analysis.markdown import LINK
from analysis.reference_pages import (
    cite_page,
    columns_page,
    commands_page,
    kind_page,
    notebook_page,
    scenario_page,
)
from simfl.scenario.parts.catalogue import DEVICES
from simfl.scenario.reference.kinds import KINDS

ROOT = Path(__file__).parents[1]
PLACES = {
    ROOT / "README.md": Path("index.md"),
    ROOT / "CHANGELOG.md": Path("changelog.md"),
    ROOT / "CONTRIBUTING.md": Path("contributing.md"),
    ROOT / "docs" / "tutorial.ipynb": Path("notebook.md"),
}
"""Where files stand on the site that stand elsewhere in the repository."""


def write_pages(folder: Path) -> None:
    """Write every page of the site into `folder`, and what pages show and link to."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for page in [*PLACES, *sorted((ROOT / "docs").rglob("*.md"))]:
        if page.suffix == ".md":
            place = _place(page)
            (folder / place).write_text(_relinked(page, place, folder), encoding="utf-8")
    for name, text in generated().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def generated() -> dict[str, str]:
    """Return the text of each page that is generated, by its path on the site."""
    pages = {
        "scenario.md": scenario_page(),
        "columns.md": columns_page(),
        "commands.md": commands_page(),
        "cite.md": cite_page(ROOT / "CITATION.cff"),
        "notebook.md": notebook_page(ROOT / "docs" / "tutorial.ipynb"),
    }
    return pages | {f"components/{kind}.md": kind_page(kind) for kind in (*KINDS, DEVICES)}


def _place(file: Path) -> Path:
    """Return where a file of the repository stands on the site."""
    docs = ROOT / "docs"
    inside = file.relative_to(docs if file.is_relative_to(docs) else ROOT)
    return PLACES.get(file, inside if file.is_relative_to(docs) else "files" / inside)


def _relinked(page: Path, place: Path, folder: Path) -> str:
    """Return the text of `page`, which stands at `place` on the site, with links that hold."""

    def new(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        if target.is_dir():
            return match[1][1:-1]
        to = _place(target)
        if to.parts[0] == "files":
            (folder / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, folder / to)
        return f"{match[1]}({os.path.relpath(to, place.parent)}{match[3] or ''})"

    return LINK.sub(new, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", type=Path)
    write_pages(parser.parse_args().folder)
