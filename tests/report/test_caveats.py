"""What hides behind the numbers is told beside them."""

from pathlib import Path

from simfl import Options, Scenario, load, run
from simfl.report import write_report
from simfl.report.caveats import (
    alike,
    cut_off,
    diverged,
    ended_early,
    overspent,
    roundless,
    short_of_memory,
    unequal_rounds,
    unheard,
    unlike,
    unpowered,
)
from simfl.report.charts.costs import energy_by_purpose
from simfl.report.comparison.forms import as_table, render
from simfl.report.page.notes import notes
from simfl.runs.results.compare import Comparison, compare
from simfl.runs.results.grouping import by_variant
from tests.made_runs import made_run
from tests.tiny import TINY, RunTiny


def test_a_run_that_diverged_is_read_and_told(tmp_path: Path) -> None:
    wild = {**TINY["training"], "optimizer": {"name": "sgd", "lr": 1000.0}}
    [result] = run(Scenario.from_dict({**TINY, "training": wild}), tmp_path)
    again = load(result.folder)  # its table says nan
    assert again.loss_is_lost
    [told] = diverged({"wild": [again]})
    assert told.startswith("wild: training diverged, 15 updates not finite and discarded and the")
    assert told.endswith("; a smaller learning rate may help.")
    assert ("Diverged", told) in notes({"wild": [again]})
    assert "training diverged" in render(compare([again]), "markdown")


def test_noise_may_be_why_a_run_diverged(run_tiny: RunTiny) -> None:
    """It was advised a smaller learning rate, which changes nothing about the noise."""
    private = {"name": "dp_fedavg", "clip": 1.0, "noise_multiplier": 1e37}
    [told] = diverged({"noisy": [run_tiny({"aggregation": private})]})
    assert "; less noise (`aggregation.noise_multiplier`, `clip`) or a smaller learning" in told


def test_a_run_that_did_not_diverge_is_not(run_tiny: RunTiny) -> None:
    assert diverged({"tiny": [run_tiny()]}) == []
    assert unheard({"tiny": [run_tiny()]}) == []


def test_a_run_in_which_no_update_counted_says_so(run_tiny: RunTiny) -> None:
    hasty = run_tiny({"rounds.policy": {"name": "synchronous", "deadline": "1 ms"}})
    [told] = unheard({"default": [hasty]})
    assert told.startswith(f"default: no update ever counted in {hasty.n_rounds} rounds (")
    assert told.endswith(" late).")
    assert ("Never counted", told) in notes({"default": [hasty]})
    below = " ".join(render(compare([hasty]), "markdown").split())
    assert told in below
    assert "by its deadline (0 where nobody arrived)" in below


def test_a_run_that_ended_before_a_round_did_says_so(run_tiny: RunTiny) -> None:
    short = run_tiny({"rounds.stop": {"time": "1 ms"}})
    [told] = roundless({"tiny": [short]})
    assert told == "tiny: the run ended, at 1 ms, before any round did."
    assert ("No round", told) in notes({"tiny": [short]})
    below = " ".join(render(compare([short]), "table").split())
    assert "the run ended, at 1 ms, before any round did." in below
    assert roundless({"tiny": [short, run_tiny()]}) == [told[:-1] + " (1 seed)."]


def test_a_run_that_never_had_its_quorum_names_it(run_tiny: RunTiny) -> None:
    """It had ended before a round did, and that was all."""
    absent = {"fleet.availability": {"name": "on_off", "on": "1 min", "off": "20 h"}}
    result = run_tiny({**absent, "rounds.stop": {"time": "1 h"}})
    [told] = roundless({"tiny": [result]})
    assert "before any round did; nobody was ever asked, for a round begins once enough" in told
    assert "`rounds.min_clients`" in told
    policy = {"rounds.policy": "fedasync", "aggregation": "fedasync", "rounds.stop.time": "1 s"}
    [told] = roundless({"tiny": [run_tiny({**absent, **policy})]})
    assert told.endswith("before any round did; nobody was ever asked.")


def test_a_run_that_could_not_go_on_says_so(run_tiny: RunTiny) -> None:
    """All batteries were empty after eight of twenty minutes, which only `summary.json` knew."""
    battery = {"capacity": "20 J", "minimum": "10%"}
    power = {"idle": "0 W", "compute": "5 W"}
    drained = run_tiny({"fleet.battery": battery, "fleet.power": power, "rounds.stop.rounds": 500})
    [told] = ended_early({"tiny": [drained]})
    assert told.startswith("tiny (at ")
    assert told.endswith("ended before `rounds.stop` was reached: nobody will be available again.")
    assert ("Ended early", told) in notes({"tiny": [drained]})
    assert "ended before" in " ".join(render(compare([drained]), "table").split())
    [two] = ended_early({"tiny": [drained, run_tiny()]})
    assert two.startswith("tiny (1 of 2 seeds, at ")
    assert ended_early({"tiny": [run_tiny()]}) == []


def test_what_the_end_of_a_run_cut_off_is_told_apart_from_waste(run_tiny: RunTiny) -> None:
    """A short asynchronous run looked as if it had come to little."""
    buffered = {"rounds.policy": "fedasync", "aggregation": "fedasync"}
    result = run_tiny(buffered)
    assert {name for name, n in result.outcomes.items() if n} == {"arrived", "unfinished"}
    [told] = cut_off({"tiny": [result]})
    share = f"{100 * result.wasted_share:.1f}%"
    assert told.startswith(f"tiny: {share} of all bytes are wasted only in so far as the run ended")
    assert ("Cut off", told) in notes({"tiny": [result]})
    assert share in " ".join(render(compare([result]), "table").split())
    late = run_tiny({"rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "40%"}}})
    assert late.wasted_bytes
    assert cut_off({"tiny": [late]}) == []


def test_devices_with_too_little_memory_are_counted(run_tiny: RunTiny) -> None:
    """Only `summary.json` knew of them."""
    fleet = [{"name": "a", "count": 6}, {"name": "b", "count": 2, "memory": "1 kB"}]
    result = run_tiny({"fleet": fleet, "rounds.clients": 8})
    [told] = short_of_memory({"tiny": [result]})
    assert told.startswith(
        "tiny: 2 of 8 devices refused, with too little memory to train (it needs"
    )
    assert ("Too little memory", told) in notes({"tiny": [result]})
    assert told in " ".join(render(compare([result]), "table").split()).replace("default:", "tiny:")


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


def test_what_many_variants_have_in_common_is_not_told_of_each(run_tiny: RunTiny) -> None:
    short = run_tiny({"rounds.stop": {"time": "1 ms"}})
    assert len(roundless({str(n): [short] for n in range(7)})) == 7
    told = roundless({str(n): [short] for n in range(50)})
    assert len(told) == 7
    assert told[-1] == "44 more variants likewise."


def test_a_budget_that_a_run_went_beyond_is_told(run_tiny: RunTiny) -> None:
    """A run to 600 J took 1 kJ, a whole round more, and stood beside others without a word."""
    power = {"fleet.power": {"compute": "5 W"}}
    whole = run_tiny(power)
    half_j, half_bytes = whole.total_energy_j / 2, whole.total_bytes / 2
    by_energy = run_tiny({**power, "rounds.stop.energy": f"{half_j * 0.9} J"})
    by_bytes = run_tiny({**power, "rounds.stop.bytes": f"{half_bytes * 0.9} B"})
    assert by_energy.summary["finished"] == "energy"
    [told] = overspent({"tiny": [by_energy]})
    line = "`rounds.stop.energy` is looked at as rounds end: in all tiny took "
    assert told.startswith(line)
    assert ("Over budget", told) in notes({"tiny": [by_energy]})
    assert line.removesuffix("tiny took ") in " ".join(
        render(compare([by_energy]), "table").split()
    )
    of_bytes, of_energy = overspent({"a": [by_bytes], "b": [by_bytes, by_energy]})
    assert of_bytes.count(" took ") == 2
    assert of_energy.count(" took ") == 1
    assert overspent({"tiny": [whole]}) == []


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
