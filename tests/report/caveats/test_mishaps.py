"""What befell a run is told beside its numbers."""

from pathlib import Path

from simfl import Scenario, load, run
from simfl.report.caveats.mishaps import (
    after_last_round,
    cut_off,
    diverged,
    ended_early,
    overspent,
    roundless,
    short_of_memory,
    unheard,
)
from simfl.report.comparison.forms import render
from simfl.report.page.notes import notes
from simfl.runs.results.compare import compare
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


def test_attackers_may_be_why_a_run_diverged(run_tiny: RunTiny) -> None:
    attack = {"name": "sign_flip", "scale": 1e39}
    [told] = diverged({"attacked": [run_tiny({"fleet.attack": attack})]})
    assert "; an aggregator that withstands attackers or a smaller learning rate" in told


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


def test_where_a_run_went_on_for_long_after_its_last_round_curves_are_said_to_stop(
    run_tiny: RunTiny,
) -> None:
    """A page said "12 h" of a run whose curves stopped at 4.8 h; only `simfl explain` told why."""
    whole = run_tiny()
    first_s, second_s = whole.of_rounds("end_s")[:2].tolist()
    stop_s = first_s + 0.9 * (second_s - first_s)
    result = run_tiny({"rounds.stop": {"time": f"{stop_s} s"}})
    [told] = after_last_round({"tiny": [result]})
    share = 100 * (1 - first_s / stop_s)
    assert told.startswith(f"tiny: {share:.0f}% of its ")
    assert ("Last round cut off", told) in notes({"tiny": [result]})
    assert after_last_round({"tiny": [whole]}) == []
    assert "(seed 0) came after its last" in after_last_round({"tiny": [whole, result]})[0]


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
