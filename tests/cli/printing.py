"""What a command prints."""

import pytest

from simfl.cli import main


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return what a command that ends well prints, which says nothing aside."""
    assert main([str(word) for word in words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out
