"""What is told of how often accuracy was looked at."""

import math
from pathlib import Path

from simfl import RunResult
from simfl.report.caveats.cadence import never_judged, seen_late, seen_unequally
from simfl.report.comparison.forms import render
from simfl.report.page.notes import notes
from simfl.runs.results.compare import compare
from tests.made_runs import made_run
from tests.tiny import RunTiny


def test_variants_that_were_looked_at_less_often_seem_slower(run_tiny: RunTiny) -> None:
    seldom = run_tiny({"evaluation.every": 3, "evaluation.targets": [0.1]})
    often = run_tiny({"evaluation.targets": [0.1]})
    assert seen_unequally({"a": [often]}) == []
    [told] = seen_unequally({"a": [often], "b": [seldom]})
    assert "judged every round with a and every 3 rounds with b" in told
    assert ("Looked at unequally", told) in notes({"a": [often], "b": [seldom]})


def test_what_is_told_of_targets_is_told_of_those_that_are_shown(run_tiny: RunTiny) -> None:
    """`compare --targets` left it out, since no scenario asked about any."""
    groups = {"a": [run_tiny()], "b": [run_tiny({"evaluation.every": 3})]}
    assert seen_unequally(groups) == []
    told = "judged less often seem slower"
    asked = compare([run for runs in groups.values() for run in runs], targets=["10%"])
    assert told in " ".join(render(asked, "markdown").split())
    assert told not in " ".join(render(asked.only(["accuracy"]), "markdown").split())


def test_targets_that_may_have_been_reached_long_before_are_told(tmp_path: Path) -> None:
    """One looked every 20 rounds was 1.2 times as slow as another whose rounds were shorter."""

    def made(name: str, round_s: float, every: int, reached: int) -> RunResult:
        rows = [
            (0.9 if n >= reached else 0.1) if n % every == 0 else math.nan for n in range(1, 21)
        ]
        how = {"every": every, "targets": [0.7]}
        return made_run(tmp_path / f"{every}", name, 0, rows, round_s=round_s, evaluation=how)

    groups = {"slow": [made("slow", 60.0, 5, 8)], "fast": [made("fast", 30.0, 5, 20)]}
    [told] = seen_late(groups)
    start, end = (
        "models were judged every 5 rounds: ",
        "4 min with slow and 2 min with fast.",  # in rounds 6 and 16, had somebody looked
    )
    assert told.startswith(start)
    assert told.endswith(f", by up to {end}")
    assert ("Looked at seldom", told) in notes(groups)
    runs = [run for own in groups.values() for run in own]
    assert told[1:] in render(compare(runs, [0.7]), "markdown")
    assert seen_late({"slow": groups["slow"]})[0].endswith(", by up to 4 min.")
    assert seen_late({n: [made(n, 60.0, 1, 20)] for n in ("slow", "fast")}) == []
    assert seen_late({n: [made(n, 60.0, 2, 20)] for n in ("slow", "fast")}) == []  # a tenth
    assert seen_late(groups, [0.95]) == []
    how = {"every": 5, "targets": [0.7]}
    first = [made_run(tmp_path / "first", name, 0, [0.9], evaluation=how) for name in "ab"]
    assert seen_late({run.variant: [run] for run in first}) == []  # no model was before it


def test_a_given_model_that_may_have_been_at_a_target_from_the_start_is_told(
    tmp_path: Path,
) -> None:
    """A fine-tuned one took a round to 30%, it was said, and began at 60%."""
    given = {"name": "mlp", "weights_file": "given.pt"}
    at_once = made_run(tmp_path, "given", 0, [0.8, 0.9], model=given)
    later = made_run(tmp_path, "later", 0, [0.6, 0.8], model=given)
    drawn = made_run(tmp_path, "drawn", 0, [0.8, 0.9], model={"name": "mlp"})
    groups = {run.variant: [run] for run in (at_once, later, drawn)}
    [told] = never_judged(groups)
    assert told.startswith("with given a target was reached by the first model that was judged; ")
    assert ("Never looked at", told) in notes(groups)
    assert told[1:] in render(compare([at_once, later, drawn], [0.7]), "markdown")
    assert never_judged(groups, [0.85]) == never_judged({"drawn": [drawn]}) == []
    assert never_judged({"given": [at_once]})[0].startswith("a target was reached")


def test_so_may_one_beside_another_that_was_judged(run_tiny: RunTiny) -> None:
    """The same drawn model took a round where nobody had looked at it, and none where one had."""
    asked = {"evaluation.targets": ["1%"]}
    looked, not_looked = run_tiny({**asked, "evaluation.initial": True}), run_tiny(asked)
    [told] = never_judged({"a": [looked], "b": [not_looked]})
    assert told.startswith("with b a target was reached by the first model that was judged; ")
    assert never_judged({"a": [looked]}) == never_judged({"b": [not_looked]}) == []
