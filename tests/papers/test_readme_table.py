"""What README tells of the papers is what docs/reproduction.md has, which is made from results."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README, PAGE = (ROOT / name for name in ("README.md", "docs/reproduction.md"))
ROW = re.compile(r"^\| .*\(docs/reproduction\.md#(\S+)\).* \| ([^|]*) \|$", re.MULTILINE)


def medians(anchor: str) -> list[str]:
    """Return the medians of an item's table, as they stand there."""
    for section in PAGE.read_text().split("\n### ")[1:]:
        if re.sub(r"[^\w-]", "", section.splitlines()[0]) == anchor:
            return re.findall(r"\| \*\*(?!rounds|accuracy|normalised)([^*]+)\*\* \|", section)
    raise AssertionError(f"docs/reproduction.md has no item {anchor}")


def is_told(told: str, median: str) -> bool:
    if told == "never":
        return median.startswith("not by")
    digits, median = len(told.partition(".")[2]), median.replace(",", "")
    return bool(re.match(r"[\d.]+%?$", median)) and float(told) == round(
        float(median.rstrip("%")), digits
    )


@pytest.mark.parametrize(("anchor", "cell"), ROW.findall(README.read_text()))
def test_its_numbers_are_medians_of_the_item_in_their_order(anchor: str, cell: str) -> None:
    numbers = re.sub(r"[;(:].*", "", cell).strip().split(", ")
    left = iter(medians(anchor))
    for told in numbers:
        assert any(is_told(told, median) for median in left), f"{told} of {cell!r} is none of them"


def test_there_are_such_rows() -> None:
    assert len(ROW.findall(README.read_text())) >= 6
