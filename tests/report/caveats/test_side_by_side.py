"""What hides behind the numbers of runs side by side is told beside them."""

from pathlib import Path

from simfl import Options, Scenario, load, run
from simfl.report import write_report
from simfl.report.caveats.side_by_side import alike, unequal_rounds, unlike, unpowered
from simfl.report.charts.costs import energy_by_purpose
from simfl.report.comparison.forms import as_table, render
from simfl.report.page.notes import notes
from simfl.runs.results.compare import compare
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.grouping import by_variant
from tests.made_runs import made_run
from tests.tiny import TINY, RunTiny


def test_accuracies_on_other_samples_are_no_one_measure(run_tiny: RunTiny) -> None:
    """Training and test accuracy stood in one column, without a word."""
    tested, trained = run_tiny(), run_tiny({"evaluation.on": "train"})
    groups = {"a": [tested], "b": [trained]}
    [told] = unlike(groups)
    assert told.startswith("accuracy and loss are of training samples with b, of test samples with")
    assert ("Not of one thing", told) in notes(groups)
    below = " ".join(render(compare([tested, trained]), "markdown").split())
    assert "Accuracy and loss are of training samples with" in below
    assert "| training accuracy |" in render(compare([trained]), "markdown")
    page = write_report([trained], trained.folder / "report.html").read_text(encoding="utf-8")
    assert "last training accuracy" in page
    assert unlike({"a": [tested], "c": [run_tiny({"fleet.count": 6})]}) == []


def test_unrelated_experiments_are_told_apart(run_tiny: RunTiny) -> None:
    other = run_tiny({"name": "other", "model": "logistic_regression", "fleet.count": 6})
    line = "these are runs of several scenarios, which differ in model and fleet."
    assert unlike({"a": [run_tiny()], "b": [other]}) == [line]
    assert unlike({"a": [run_tiny()], "b": [run_tiny({"name": "same"})]}) == []


def test_groups_that_do_not_say_their_power_are_named(run_tiny: RunTiny) -> None:
    """They counted as 0 J, without a word."""
    phones = {"name": "phones", "count": 4, "power": {"compute": "3 W"}}
    homes = {"name": "homes", "count": 4}
    result = run_tiny({"fleet": [phones, homes]})
    assert result.summary["unpowered"] == load(result.folder).unpowered == ["homes"]
    [told] = unpowered({"tiny": [result]})
    assert told.startswith("it is not known what devices of homes draw")
    assert ("Energy in part", told) in notes({"tiny": [result]})
    assert "what devices of homes draw" in " ".join(render(compare([result]), "table").split())
    assert "homes" not in render(compare([result]).only(["accuracy"]), "table")
    chart = energy_by_purpose({"tiny": [result]})
    assert chart is not None
    assert chart.about.endswith("Devices of homes have no `power`: 0 J.")
    whole = run_tiny({"fleet": [phones, {**homes, "power": {"compute": "1 W"}}]})
    assert unpowered({"both": [whole]}) == unpowered({"none": [run_tiny()]}) == []
    results = {"a": [whole], "b": [result], "c": [result]}
    [told] = unpowered(results)
    assert told.startswith("it is not known what devices of homes draw with b and c (no `power`)")
    table = as_table(Comparison(results, compare([result]).columns, []))
    assert "It is not known what devices of homes draw with b" in " ".join(table.split())


def test_variants_that_make_no_difference_are_named(tmp_path: Path) -> None:
    """A deadline that nobody misses changes the plan and nothing else."""
    plain, patient, few = "plain", {"rounds.policy.deadline": "1 h"}, {"rounds.clients": 2}
    variants = {plain: {}, "patient": patient, "few": few}
    results = run(Scenario.from_dict({**TINY, "variants": variants}), tmp_path)
    groups = {result.variant: [result] for result in results}
    [told] = alike(groups)
    assert "accuracy and loss, with plain and patient: what tells" in told
    assert ("Alike", told) in notes(groups)
    assert told[1:] in " ".join(render(compare(results), "table").split())
    assert alike({"plain": groups["plain"], "few": groups["few"]}) == []
    fast = {"variants": {plain: {}, "faster": {"training.optimizer": {"name": "adam"}}}}
    clocks = run(Scenario.from_dict({**TINY, **fast}), tmp_path / "clock", Options(time_only=True))
    assert alike(by_variant(clocks)) == [  # which might well have made one to a model
        "every round is the same, in time and bytes, with plain and faster: what tells them apart "
        "in the scenario made no difference to the clock, and nothing was trained."
    ]


def test_variants_that_spend_other_energy_or_privacy_make_a_difference(tmp_path: Path) -> None:
    noise = {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 2}
    variants = {
        "plain": {},
        "surer": {"aggregation.delta": 1e-9},
        "hot": {"fleet.power": {"compute": "9 W"}},
    }
    spec = {**TINY, "aggregation": noise, "variants": variants}
    assert alike(by_variant(run(Scenario.from_dict(spec), tmp_path))) == []


def test_sets_of_variants_that_make_no_difference_are_one_sentence(tmp_path: Path) -> None:
    """A sweep of ten numbers of clients and five learning rates had ten boxes above its results."""
    groups = {
        f"clients={n}_lr={lr}": [made_run(tmp_path, f"clients={n}_lr={lr}", 0, [n / 10])]
        for n in range(1, 6)
        for lr in (1, 2, 3)
    }
    [told] = alike(groups)
    assert "within each of 5 sets of variants (clients=1_lr=1, clients=1_lr=2 and 1 more;" in told
    assert "; and 2 more sets): what tells them apart" in told
    [told] = alike({name: own for name, own in groups.items() if not name.startswith("clients=5")})
    assert "; and 1 more set): what tells them apart" in told


def test_rounds_of_fewer_updates_are_not_told_to_be_faster(tmp_path: Path) -> None:
    """FedBuff's rounds of one update were "the shortest", 4 times as fast; they do no more."""
    fedbuff = {"rounds.policy": {"name": "fedbuff", "buffer": 1}, "aggregation": "fedbuff"}
    spec = {**TINY, "variants": {"waits": {}, "alike": {"selection": "round_robin"}}}
    both = run(Scenario.from_dict(spec), tmp_path / "alike", Options(time_only=True))
    assert unequal_rounds(by_variant(both)) == []
    spec["variants"] = {"waits": {}, "fedbuff": fedbuff}
    runs = run(Scenario.from_dict(spec), tmp_path / "unlike", Options(time_only=True))
    groups = by_variant(runs)
    [told] = unequal_rounds(groups)
    waits, buffered = runs
    hourly = [round(n * 3600 / r.end_s) for n, r in ((4 * 4, waits), (4, buffered))]
    assert told.startswith(
        f"the updates that count in a round are 4 with waits ({hourly[0]:,} an hour) and "
        f"1 with fedbuff ({hourly[1]:,} an hour): "
    )
    assert ("Unequal rounds", told) in notes(groups)
    below = " ".join(render(compare(runs, baseline="waits"), "table").split())
    assert told[1:] in below
    judged = run(Scenario.from_dict(spec), tmp_path / "trained")
    assert "Unequal rounds" not in dict(notes(by_variant(judged)))  # accuracy is the answer
    assert "updates that count in a round" in render(compare(judged, baseline="waits"), "markdown")
    assert "updates that count in a round" not in render(compare(judged), "markdown")
    # But rounds to a target are counted beside each other, and the fewer seem the better.
    counted = compare(judged, ["1%"])
    assert "updates that count in a round" in render(counted, "markdown")
    assert "that count in a round" not in render(counted.only(["time_s_to_1%"]), "markdown")
    spec["evaluation"] = {"targets": ["1%"]}
    asked = by_variant(run(Scenario.from_dict(spec), tmp_path / "asked"))
    assert "Unequal rounds" in dict(notes(asked))
    assert unequal_rounds(asked, 4.0) == []
