"""The suite itself: no folder of tests is passed over, and what tests share is no test."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest


def test_every_folder_of_tests_is_looked_into(pytestconfig: pytest.Config) -> None:
    """Pytest passes over folders called build unless it is told otherwise."""
    here = Path(__file__).parent
    folders = {file.parent for file in here.rglob("test_*.py")} - {here}
    names = {part for folder in folders for part in folder.relative_to(here).parts}
    patterns = pytestconfig.getini("norecursedirs")
    assert "build" in names
    assert not [name for name in names if any(fnmatch(name, p) for p in patterns)]


def test_what_tests_share_stands_in_no_file_of_tests() -> None:
    """Else that file is imported twice, under two names, and one test moves with another."""
    files = Path(__file__).parent.rglob("*.py")
    shared = re.compile(r"^ *(?:from|import) +tests\S*\.test_\w+", re.MULTILINE)
    assert not [str(file) for file in files if shared.search(file.read_text(encoding="utf-8"))]
