"""What README.md and docs/ say was measured is in the committed results, or in their tables."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PERFORMANCE, SCALE = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("performance.md", "scale.md")
)


def measured(name: str) -> dict[str, list[dict[str, Any]]]:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["tables"]


def is_told(told: str, number: float) -> bool:
    """Whether `told`, with its unit or without, is `number` to as many digits."""
    text = re.sub(r"[^\d.]", "", told)
    digits = len(text.partition(".")[2])
    return abs(float(text) - number) <= 0.5000001 * 10.0**-digits


def rows(page: str, heading: str, columns: int) -> list[list[str]]:
    """Return the cells of the first table after `heading` that has so many columns."""
    after = page.split(heading, 1)[1]
    lines = re.findall(rf"^(?:\|[^|\n]*){{{columns}}}\|$", after, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    ("results", "row"),
    [
        *(("training", row) for row in rows(PERFORMANCE, "Rounds per second against", 5)[2:10]),
        *(
            ("training_avx2", row)
            for row in rows(PERFORMANCE, "`--results training_avx2`", 5)[2:10]
        ),
    ],
)
def test_rounds_per_second_are_those_measured(results: str, row: list[str]) -> None:
    [table] = [t for title, t in measured(results).items() if title.startswith(f"{row[0]},")]
    ratios = {line["contender"]: line["rounds_per_second_x"] for line in table}
    for told, contender in zip(row[2:], ("tensor loop", "simfl", "simfl, 2 workers"), strict=True):
        assert is_told(told, ratios[contender]), (contender, ratios[contender])


GPU = measured("gpu")
WAYS = (
    *(f"recorded, {streams} streams" for streams in (1, 4, 16)),
    *("client by client", "vmap", "linear"),
)


@pytest.mark.parametrize("row", rows(PERFORMANCE, "| | simfl, 1 stream |", 9)[1:9])
def test_training_on_a_gpu(row: list[str]) -> None:
    workload, *told = row
    ways = {line["way"]: line for line in GPU[workload]}
    for number, way in zip(told, (*WAYS, None, "processor"), strict=True):
        if way in ways:
            assert is_told(number, ways[way]["train_ms"]), way
        else:
            assert way is None or not number
    assert is_told(told[6], 100 * ways["recorded, 16 streams"]["limit"])


def test_rounds_on_a_gpu() -> None:
    loop, simfl, ratios = rows(PERFORMANCE, "beside a plain loop\non the card", 9)[2:5]
    for workload, *told in zip(GPU, loop[1:], simfl[1:], ratios[1:], strict=True):
        ways = {line["way"]: line["round_ms"] for line in GPU[workload]}
        both = ways["plain loop"], ways["recorded, 16 streams"]
        for number, value in zip(told, (*both, both[0] / both[1]), strict=True):
            assert is_told(number, value), workload


def test_what_fleets_cost_is_as_measured() -> None:
    [table] = [t for title, t in measured("scale").items() if "fleets of different sizes" in title]
    told = {row[0]: row[1:] for row in rows(PERFORMANCE, "| devices | set-up |", 4)}
    for line in table:
        set_up, a_round, memory = told[f"{line['devices']:,}"]
        assert is_told(set_up, line["set_up_s"])
        assert is_told(a_round, 1000 * line["per_round_s"])
        assert is_told(memory, line["peak_mb"])


def test_coefficients_of_scale_are_those_measured() -> None:
    told = {what: value for _, what, value in rows(SCALE, "| coefficient |", 3)}

    def of(words: str) -> str:
        [value] = [value for what, value in told.items() if words in what]
        return value

    by_workload = {
        line["workload"]: line
        for line in measured("overhead")["One round of a whole run, CPU milliseconds"]
    }
    assert is_told(of("W1 (20 steps"), by_workload["W1"]["training_ms"] / 10)
    assert is_told(of("W3 (87 steps"), by_workload["W3"]["training_ms"] / 100)
    nodes = measured("cluster")["Two Ray nodes on this machine, arrays of 100 MiB"]
    costs = {line["cost"]: line for line in nodes}
    assert is_told(of("a task:"), costs["a task that does nothing"]["milliseconds"])
    assert is_told(of("putting a model"), costs["put into the store"]["GB_per_s"])
    assert is_told(of("a node's first look"), costs["fetch to another node"]["GB_per_s"])
    assert is_told(of("a result's way back"), costs["result from another node"]["GB_per_s"])


def test_how_far_the_clock_is_from_real_runs() -> None:
    """README.md and the head of validation.md told of the last of several real runs alone."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    table = page.split("**Several real runs**", 1)[1].split("\n\n")[1]
    cells = [[cell.strip() for cell in line.split("|")[1:]] for line in table.splitlines()[2:]]
    shares = {row[0]: [float(cell.strip("%")) for cell in row[2:5]] for row in cells}
    assert len(shares) == 23
    off = {name: simulated for name, (_, _, simulated) in shares.items()}
    close = [off[name] for name, (apart, _, _) in shares.items() if apart <= 5]
    mean, of_close = sum(off.values()) / 23, sum(close) / len(close)
    assert len(close) == 18
    assert sum(error <= 5 for error in off.values()) == 19
    told = "In 19 a simulated round is within 5% of a real one, in the mean of all real runs"
    assert f"{told}; the average is {mean:.1f}%." in readme
    assert f"There the clock is {of_close:.1f}% off on average" in readme
    assert f"{of_close:.1f}% off a real run on average" in " ".join(page.split())
    assert max(close) == off["long rounds flower"]
    for name, (apart, _, simulated) in shares.items():
        assert simulated < apart or apart <= 5, name


def test_how_far_the_clock_is_where_computing_does_not_help_it() -> None:
    """The testbed's clients compute as long as they are told: most of a round was right by that."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    head, found = page.split("**What is left of a round without the computing", 1)
    lines = found.split("\n\n")[1].splitlines()[2:]
    cells = [[cell.strip(" %") for cell in line.split("|")[1:5]] for line in lines]
    shares = {name: tuple(map(float, numbers)) for name, *numbers in cells}
    rests = [rest for rest, _, _ in shares.values()]
    off, apart = shares["long rounds flower"][1:]
    assert off == max(error for _, error, _ in shares.values())
    mean = found.split("within 5% of a round: ", 1)[1].split(" ", 1)[0]
    told = f"{mean} off on average, and most in Flower's ({off}% off; two real runs are {apart}%"
    assert told in readme
    head = " ".join(head.split())
    assert f"The rest, {min(rests):.0f}% to {max(rests):.0f}% of a round, is {mean} off" in head
    assert f"Flower's ({off}%; two real runs are {apart}% apart)" in head
