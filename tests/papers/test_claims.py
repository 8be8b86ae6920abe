"""Claims of papers: what chance may have ordered does not hold."""

import math

import pytest

from simfl.papers.claims import Claim, paired
from simfl.runs.results.paired import Ratio
from simfl.runs.results.statistics import Figure
from tests.papers.records import record, rows


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("a < b", True),
        ("b < a", False),
        ("a < b < c, never", True),
        ("a < c, b", True),
        ("a, c < b", False),
        ("2 * a < b", False),
        ("1.9 * a < b", True),
        ("a < b - 9", True),
        ("a < b - 10", False),
        ("never < never", False),
        ("a < unknown", None),
    ],
)
def test_a_claim_holds_or_not_for_medians_over_seeds(claim: str, holds: bool | None) -> None:
    found = rows(a=[10, 1, 10], b=[20, 20, 999], c=[21, None, 21], never=[None, 1, None])
    assert Claim.parse(claim).holds(found) is holds


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("a < b", "holds"),
        ("1.5 * a < b", "holds"),
        ("1.99 * a < b", "so ordered, not told from chance"),
        ("a < c", "so ordered, not told from chance"),
        ("b < a", "DOES NOT HOLD"),
        ("a < unknown", "not measured"),
    ],
)
def test_what_chance_may_have_ordered_does_not_hold(claim: str, told: str) -> None:
    found = rows(a=[10, 11, 10, 9], b=[20, 21, 21, 19], c=[12, 8, 14, 10])
    assert Claim.parse(claim).told(found) == told
    [one] = {Claim.parse("a < b").told(rows(a=[10], b=[20]))}
    assert one == "so ordered, one seed"


def test_orderings_of_which_no_ratio_is_known_are_told_as_such() -> None:
    """They were told as those of one seed, and an item with them counted as reproduced."""
    last: list[float | None] = [500.0] * 5
    found = rows(a=last, b=[None] * 5)
    assert Claim.parse("a < b").told(found) == "so ordered, not comparable seed by seed"
    unsure = rows(a=[10, 10, 30, 10, 10], b=last, c=[None] * 5, d=[20, 20, 20, 20, 20])
    assert Claim.parse("a < b < c").told(unsure) == "so ordered, not comparable seed by seed"
    assert Claim.parse("a < d < b < c").told(unsure) == "so ordered, not told from chance"


def test_claims_are_judged_on_the_seeds_that_all_rows_have() -> None:
    found = rows(a=[10, 10, 90, 90, 90], b=[20, 20])
    assert Claim.parse("a < b").holds(found)
    assert Claim.parse("a < b").holds([r for r in found if (r.row, r.seed) != ("b", "0")])
    assert Claim.parse("a < b").holds(found[2:5] + rows(b=[20, 20])[:2]) is None


def test_a_claim_may_name_its_measure() -> None:
    claim = Claim.parse("bytes to 69%: 2 * a < b")
    assert (claim.measure, claim.rows, claim.groups[0][0].times) == ("bytes to 69%", ["a", "b"], 2)
    assert Claim.parse("a < b").measure is None


@pytest.mark.parametrize("text", ["a", "a <", "a < b c", "x * a < b", "a > b"])
def test_what_is_no_claim(text: str) -> None:
    with pytest.raises(ValueError, match=r"ordering|no row"):
        Claim.parse(text)


def test_costs_are_compared_by_their_ratio_and_numbers_by_their_difference() -> None:
    ratio = paired(rows(a=[10, 20], b=[20, 80]), "a", "b")
    assert isinstance(ratio, Ratio)
    assert ratio.value == pytest.approx(math.sqrt(2 * 4))
    shares = [record("a", 0, 0.5), record("a", 1, 0.7), record("b", 0, 0.6), record("b", 1, 0.9)]
    difference = paired(shares, "a", "b")
    assert isinstance(difference, Figure)
    assert difference.mean == pytest.approx(0.15)
    assert paired(shares, "a", "c") is None
