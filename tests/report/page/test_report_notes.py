"""What a page says beside its numbers: what failed, was not recorded, trained or known."""

import csv
import json
from hashlib import sha256
from pathlib import Path

import simfl
from simfl.report import write_report
from simfl.report.charts.anatomy import anatomy
from simfl.report.page.notes import notes
from simfl.runs.forks.fork import fork
from simfl.runs.options import Options
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.runs.run import resume
from simfl.scenario import Scenario
from tests.made_runs import made_run
from tests.report.page.html_page import check, island
from tests.tiny import TINY, RunTiny


def test_a_run_that_failed_says_by_what(broken_off: RunResult, tmp_path: Path) -> None:
    path = broken_off.folder / "provenance.json"
    failed = {"round": 3, "error": "ValueError: <no>"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "failed": failed}))
    run = RunResult(broken_off.folder)
    page = write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
    told = f"<b>Failed:</b> {run.variant} seed {run.seed} in round 3: ValueError: &lt;no&gt;; once"
    assert told in page
    assert "Not finished" not in page


def test_what_five_runs_failed_by_is_told_once(tmp_path: Path) -> None:
    """A mistake in a selector of one's own stood there three times, in a paragraph of its own."""
    for seed in range(5):
        folder = made_run(tmp_path, "own", seed, [0.5], finished=False).folder
        path = folder / "provenance.json"
        failed = {"round": 1, "error": "ValueError: no" if seed < 4 else "ValueError: yes"}
        path.write_text(json.dumps({**json.loads(path.read_text()), "failed": failed}))
    runs = [RunResult(tmp_path / "own" / f"seed-{seed}") for seed in range(5)]
    assert dict(notes({"own": runs}))["Failed"].startswith(
        "own seed 0, own seed 1, own seed 2 and 1 more in round 1: ValueError: no; own seed 4 in "
        "round 1: ValueError: yes; once"
    )


def test_what_was_not_recorded_is_not_promised(tmp_path: Path) -> None:
    """The digest of an empty log stood there, and files with nothing in them."""
    runs = simfl.run(
        Scenario.from_dict(TINY), tmp_path, Options(time_only=True, log="none", jobs=1)
    )
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    assert sha256(b"").hexdigest()[:16] not in page
    assert "clients.csv" not in page
    assert "was not recorded (<code>--log none</code>)" in page


def test_time_only_is_said(timed: list[RunResult], tmp_path: Path) -> None:
    words = check(write_report(timed, tmp_path / "page.html")).words
    assert "Time only:" in words
    assert "Rounds over virtual time" in words
    assert not any("Accuracy over" in word for word in words)


def test_an_oracle_is_said(
    compared: list[RunResult], broken_off: RunResult, tmp_path: Path
) -> None:
    assert "Oracle selector:" not in check(write_report(compared, tmp_path / "page.html")).words
    path = broken_off.folder / "provenance.json"
    path.write_text(path.read_text().replace('"oracle": false', '"oracle": true'))
    assert "Oracle selector:" in check(write_report([broken_off], tmp_path / "page.html")).words


def test_abandoned_rounds_are_told(tmp_path: Path) -> None:
    policy = {"name": "synchronous", "deadline": {"stragglers": "50%"}, "min_updates": 3}
    scenario = {**TINY, "rounds": {"clients": 3, "policy": policy, "stop": {"rounds": 4}}}
    [result] = simfl.run(Scenario.from_dict(scenario), tmp_path, Options(time_only=True))
    lost = sum(result.rounds["arrived"] == 0)
    assert lost == result.summary["abandoned_rounds"] > 0
    told = dict(notes({"v": [result]}))["Abandoned rounds"]
    assert told.startswith(f"v: {lost} of 4 rounds abandoned, with fewer updates than 3")
    at_s = float(result.rounds["end_s"].iloc[-1]) - 1
    changed = fork(result.folder, at_s, ["rounds.policy=fedbuff"], name="w")
    told = dict(notes({"w": [resume(changed, Options(time_only=True))]}))["Abandoned rounds"]
    assert " abandoned, with too few updates (" in told


def test_short_rounds_are_told_with_how_many_devices_a_result_rests_on(tmp_path: Path) -> None:
    run = made_run(tmp_path, "v", 0, [0.5, 0.6, 0.7])
    path = tmp_path / "page.html"
    assert "Rounds ran short:" not in check(write_report([run], path)).words
    with (run.folder / "rounds.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    for row in table[:2]:
        row["missing"] = "3"
    with (run.folder / "rounds.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    words = " ".join(check(write_report([RunResult(run.folder)], path)).words)
    assert "2 of 3 rounds had fewer clients than asked; updates of 2 of 2 devices counted" in words


def test_notes_say_how_many_in_plain_words(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, f"v{n}", 0, [0.1]) for n in range(5)]
    for run in runs:
        run.round_rows["missing"] = 3
        run.summary["totals"] |= {"wasted_bytes": 500}
        run.summary["trainings"] |= {"issued": 4, "dropped": 1, "computed": 3}
    told = " ".join(text for _, text in notes(by_variant(runs)))
    assert "fewer with 2 other variants" in told
    assert "25.0% of v0's bytes; 25.0% of v1's bytes; 25.0% of v2's bytes" in told
    assert "5 of 20 trainings were never computed, because their updates were lost" in told
    assert "in 1 of 1 round." in anatomy({"v": runs[:1]}).about  # type: ignore[union-attr]


def test_of_what_nothing_was_trained_is_named(run_tiny: RunTiny) -> None:
    """Beside accuracies of others it was said of all, and its orders counted as trained."""
    late = {"rounds.policy": {"name": "synchronous", "deadline": "1 s"}}
    trained, timed = run_tiny(late), run_tiny(late, Options(time_only=True))
    told = dict(notes({"a": [trained], "b": [timed]}))
    assert told["Time only"].startswith("nothing was trained with b, so")
    counts = trained.summary["trainings"]
    assert f"{counts['dropped']} of {counts['issued']} trainings" in told["Never trained"]
    assert dict(notes({"b": [timed]}))["Time only"].startswith("nothing was trained, so")


def test_a_fork_is_told_and_marked(tmp_path: Path) -> None:
    """Nothing on its page said so, but the provenance at its end."""
    runs = [made_run(tmp_path, name, 0, [0.1, 0.5, 0.6]) for name in ("plain", "plain-fork")]
    fork = {"variant": "plain", "at_s": 15.0, "set": ["rounds.policy=fedbuff"]}
    path = runs[1].folder / "provenance.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "forks": [fork]}))
    told = "ork of plain, from 15.0 s on: rounds.policy=fedbuff."
    for results, words, marks in (
        (runs[1:], f"F{told}", True),
        (runs, f"plain-fork: f{told}", True),
        (runs[:1], told, False),
    ):
        out = write_report([RunResult(run.folder) for run in results], tmp_path / "page.html")
        assert (words in check(out).words) == marks
        page = out.read_text(encoding="utf-8")
        assert ('y="24">fork</text>' in page) == marks
        assert island(page)["learning"]["forks"] == ([15.0] if marks else [])
