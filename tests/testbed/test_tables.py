"""What the tables say of comparisons."""

from pathlib import Path

import pytest

from testbed.orders import served
from testbed.tables import BEGIN, END, fill, tables
from testbed.verdict import beside_computing
from tests.testbed.made import made, told


def test_what_computing_makes_right_is_taken_out_of_a_round() -> None:
    """Two rounds of 3 s and 5 s: whoever is last computes for 2 s, then for 4 s."""
    updates = [
        [0, 0, 0, "arrived", 2.5], [1, 0, 0, "arrived", 3.0], [2, 0, 0, "late", None],
        [0, 1, 1, "arrived", 8.0], [1, 1, 1, "arrived", 7.0], [2, 1, 1, "late", None],
    ]  # fmt: skip
    result = {"name": "testbed-a", "measured_s": 8.0, "updates": updates}
    result |= {"waited_s": [4.0, 2.0, 9.0], "stated": {"mean_round": 0.02}}
    assert "| a | 25% | 8.0% |  |\n\n- where" in beside_computing([result])
    result["repeated"] = {"runs": 2, "mean_round": 0.01, "simulated": {"mean_round": 0.03}}
    text = beside_computing([result, {**result, "name": "testbed-quota", "waited_s": []}])
    assert "| a | 25% | 12.0% | 4.0% |" in text
    assert "quota" not in text
    assert text.endswith("within 5% of a round: 12.0% in the mean of 1.")
    assert beside_computing([{**result, "waited_s": []}]) == ""


def test_the_verdict_names_who_misses_a_target(tmp_path: Path) -> None:
    text = tables([told("fine", 0.01, 0.001), told("far", 0.07, 0.03, down=-0.02)])
    assert "| fine | 1.0% | 1.0% | 0.1% | 1.0% | 0.1% | 100% | 0.012 to 80 ms | 0 to 2 |" in text
    assert "| far | 3 | 7.0% | 2.0% | 3.0% | 50% | 100% | 100% | 50% | 50% | 90% |" in text
    assert "one way and another aside: 1 of 2; not far (90.0%)." in text
    assert "one of these from another: 0 of 1; not far (3.0%)." in text
    assert "rounds within 5%: 1 of 2; not far (7.0%). In the mean 4.0%, not within 2%." in text
    assert "further apart than 5%: 1 of 1. In the mean 1.0%, within 2%." in text
    assert "rounds within 2%: 1 of 2; not far (3.0%). In the mean 1.6%, not within 1%." in text
    assert "bytes down within 1%: 1 of 2; not far (2.0%)." in text
    assert "bytes up within 1%: 2 of 2." in text
    document = tmp_path / "document.md"
    document.write_text(f"before\n{BEGIN}old{END}\nafter\n")
    fill(document, text)
    assert document.read_text() == f"before\n{BEGIN}\n{text}\n{END}\nafter\n"


def test_the_first_client_and_all_others_are_told_apart_behind_links_that_are_shared() -> None:
    found = served(made(last_s=4.0), made(last_s=3.5))
    assert found["measured"] == {"download": [1.0, 1.0], "upload": pytest.approx([0.9, 2.0])}
    assert found["simulated"]["upload"] == pytest.approx([0.9, 1.5])
    text = tables([told("fine", 0.01, 0.001) | {"served": found}, told("alone", 0.01, 0.001)])
    row = "1000 ms | 1000 ms | 1000 ms | 1000 ms | 900 ms | 2000 ms | 900 ms | 1500 ms"
    assert f"| fine | {row} |" in text
    assert text.count(row) == 1


def test_the_seconds_of_a_quota_are_told_apart_and_what_they_would_be_with_the_cpu_needed() -> None:
    parts = {"throttled_s": 1.0, "waited_s": 0.5, "loop_s": 0.002}
    slow = {"client": 0, "round": 0, "given_s": 2.0, "compute_s": 2.5, "cpu_s": 0.5} | parts
    quick = slow | {"round": 1, "compute_s": 1.6, "cpu_s": 0.3, "throttled_s": 0.8, "waited_s": 0.4}
    quick["loop_s"] = 0.003
    result = told("fine", 0.01, 0.001) | {"shares": [0.2], "computing": [slow, quick]}
    row = "2.00 s | 2.05 s | 0.90 s | 0.45 s | 0.30 s | 400 ms | 400 ms"
    row += " | 35.4% | -1.00 | 22.5% | 3.1%"
    assert f"| fine, client 0 | {row} |\n| fine, all | {row} |" in tables([result])
