"""docs/reliability.md names every law, every test of this folder, and nothing that is not there."""

import re
from pathlib import Path

from simfl.runs.laws import LAWS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_law_is_told() -> None:
    for law in LAWS:
        words = (law.violations.__doc__ or "").splitlines()[0]
        assert f"| {law.name} | {words} |" in PAGE


def test_every_test_is_told() -> None:
    named = set(re.findall(r"`(tests/\S+\.py)`", PAGE))
    assert all((ROOT / name).exists() for name in named)
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    assert here - {Path(name).name for name in named} == {"test_page.py"}
