"""Data sets of the user's own, written beside the scenario."""

import sys

import pytest

from tests.components.datasets import own_files


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return own_files.write(tmp_path)
