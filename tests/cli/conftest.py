"""Where commands are given, and a scenario to give them."""

from pathlib import Path

import pytest

from tests.cli.commanded import SCENARIO


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "scenario.yaml"
    path.write_text(SCENARIO)
    return path
