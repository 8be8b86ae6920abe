"""Which runs are of one variant, where they are found and in which order they come."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simfl import run
from simfl.errors import InputError
from simfl.report import forked
from simfl.runs.forks.fork import fork
from simfl.runs.options import Options
from simfl.runs.results.compare import compare
from simfl.runs.results.find import find_runs, runs_of_study
from simfl.runs.results.grouping import by_variant, require_variant
from simfl.runs.run import resume
from simfl.scenario import Scenario
from tests.made_runs import made_run, reaches
from tests.tiny import TINY


def test_the_same_seed_in_two_places_is_not_two_seeds(tmp_path: Path) -> None:
    """Two settings of a scenario, say, in two folders: nothing says that they are alike."""
    for out, round_ in (("five", 10), ("ten", 20)):
        made_run(tmp_path / out, "wait", 0, reaches(round_, 40, 0.7), targets=(0.65,))
    made_run(tmp_path / "five", "drop", 0, reaches(15, 40, 0.7), targets=(0.65,))
    groups = compare(find_runs([tmp_path])).groups
    assert {name: len(runs) for name, runs in groups.items()} == {
        "drop": 1,
        f"wait in {tmp_path / 'five'}": 1,
        f"wait in {tmp_path / 'ten'}": 1,
    }


def test_a_run_that_is_there_twice_is_not_two_seeds(tmp_path: Path) -> None:
    """In a notebook runs are added to others, the same among them."""
    made = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    groups = compare(made + find_runs([tmp_path])).groups
    assert {name: len(runs) for name, runs in groups.items()} == {"default": 1}


def test_folders_that_links_lead_to_are_looked_into_and_each_run_is_found_once(
    tmp_path: Path,
) -> None:
    """Runs that lie on another disk were left out without a word."""
    here, there = tmp_path / "here", tmp_path / "there"
    own = made_run(here / "study", "v", 0, reaches(1, 2)).folder
    other = made_run(there, "w", 0, reaches(1, 2)).folder
    (here / "a latest").symlink_to(own)
    (here / "linked").symlink_to(there)
    (there / "up").symlink_to(here)  # in a circle
    (here / "gone").symlink_to(tmp_path / "nowhere")
    assert [run.folder for run in find_runs([here])] == [here / "linked" / "w" / "seed-0", own]
    assert [run.folder for run in find_runs([there])] == [
        other,
        there / "up" / "study" / "v" / "seed-0",
    ]
    (here / "study" / "out").symlink_to(tmp_path)  # up and out: it is not asked about
    assert [run.folder for run in find_runs([here / "study"])] == [own]
    (here / "study" / "again").symlink_to(own.parent)
    assert [run.folder for run in runs_of_study(here / "study")] == [own]


def test_seeds_of_different_experiments_are_not_one_variant(tmp_path: Path) -> None:
    for seed, clients in enumerate([5, 5, 10]):
        rounds = {"clients": clients, "stop": {"rounds": 4}}
        made_run(tmp_path, "wait", seed, reaches(2, 4, 0.7), rounds=rounds)
    timed = made_run(tmp_path, "wait", 3, [], rounds={"clients": 10, "stop": {"rounds": 4}})
    provenance = {"variant": "wait", "seed": 3, "time_only": True}
    (timed.folder / "provenance.json").write_text(json.dumps(provenance))
    groups = by_variant(find_runs([tmp_path]))
    assert {name: [run.seed for run in runs] for name, runs in groups.items()} == {
        "wait (trained, rounds.clients 5)": [0, 1],
        "wait (trained, rounds.clients 10)": [2],
        "wait (time only, rounds.clients 10)": [3],
    }


def test_scenarios_that_differ_in_much_or_were_forked_stay_apart(tmp_path: Path) -> None:
    for seed, (a, b, c) in enumerate([(1, 1, 1), (1, 1, 2), (2, 2, 1)]):
        made_run(tmp_path, "v", seed, [0.5], a=a, b=b, c=c)
    names = list(by_variant(find_runs([tmp_path])))
    assert names == [
        "v (a 1, b 1, and 1 more)",
        "v (a 1, b 1, and 1 more) #2",
        "v (a 2, b 2, and 1 more)",
    ]
    for seed, at_s in enumerate([None, 4.0, 6.0]):
        made = made_run(tmp_path / "forked", "v", seed, [0.5])
        forks = [] if at_s is None else [{"at_s": at_s, "set": ["training.epochs=1"]}]
        provenance = {"variant": "v", "seed": seed, "forks": forks}
        (made.folder / "provenance.json").write_text(json.dumps(provenance))
    names = list(by_variant(find_runs([tmp_path / "forked"])))
    assert names == ["v (not forked)", "v (forked at 4 s)", "v (forked at 6 s)"]


def test_seeds_that_were_only_made_longer_are_one_variant(tmp_path: Path) -> None:
    """Each goes on from just before its own end: they were a variant each, `(forked at 9 s)`."""
    for seed, at_s in enumerate([9.0, 8.0]):
        made = made_run(tmp_path, "longer", seed, [0.5])
        forks = [{"variant": "v", "at_s": at_s, "set": ["rounds.stop.rounds=9"]}]
        provenance = {"variant": "longer", "seed": seed, "forks": forks}
        (made.folder / "provenance.json").write_text(json.dumps(provenance))
    runs = find_runs([tmp_path])
    assert {name: len(seeds) for name, seeds in by_variant(runs).items()} == {"longer": 2}
    assert forked.told(runs) == ["Fork of v, gone on with: rounds.stop.rounds=9."]
    assert forked.instants_s(runs) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rounds": {"deadline": "none"}}, {"rounds": {"deadline": {"stragglers": "30%"}}}),
        ({"fleet": [{"count": 2}]}, {"fleet": [{"count": 2}, {"count": 3}]}),
        ({"levels": [1]}, {"levels": [1, 2]}),
        ({"levels": []}, {"levels": [1]}),
    ],
)
def test_something_else_in_a_place_is_another_experiment(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any]
) -> None:
    for seed, scenario in enumerate((one, other)):
        made_run(tmp_path, "v", seed, [0.5], **scenario)
    assert len(by_variant(find_runs([tmp_path]))) == 2


def test_a_scenario_that_is_older_than_an_option_is_no_other_one(tmp_path: Path) -> None:
    for seed, rounds in enumerate([{"clients": 2}, {"clients": 2, "newer": 1}]):
        made_run(tmp_path, "v", seed, [0.5], rounds=rounds)
    assert list(by_variant(find_runs([tmp_path]))) == ["v"]


def test_nothing_that_runs_name_is_imported_to_tell_them_apart(tmp_path: Path) -> None:
    for seed in (0, 1):
        selection = {"name": "stranger.py:Own"}
        made = made_run(tmp_path, "v", seed, [0.5], selection=selection, rounds={"clients": seed})
        (made.folder / "stranger.py").write_text("raise SystemExit('imported')")
    assert list(by_variant(find_runs([tmp_path]))) == [
        "v (rounds.clients 0)",
        "v (rounds.clients 1)",
    ]


def test_variants_stay_in_the_order_in_which_the_scenario_has_them(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(
        {**TINY, "seeds": [2, 10], "variants": {name: {} for name in ("zebra", "ant", "bee")}}
    )
    run(scenario, tmp_path, Options(time_only=True), variants=["ant", "zebra"])
    run(scenario, tmp_path, Options(time_only=True), variants=["bee"])
    found = [(one.variant, one.seed) for one in find_runs([tmp_path])]
    assert found == [(name, seed) for name in ("zebra", "ant", "bee") for seed in (2, 10)]


def test_a_fork_follows_its_run_and_a_baseline_comes_first(tmp_path: Path) -> None:
    """A fork whose name sorts before its run's took the run's place, and its colour."""
    scenario = Scenario.from_dict({**TINY, "variants": {"sync": {}, "other": {}}})
    [sync, _] = run(scenario, tmp_path, Options(time_only=True))
    forked = resume(fork(sync.folder, 0.5, ["rounds.clients=3"], "b"))
    resume(fork(forked.folder, 1.0, ["rounds.clients=2"], "a"))
    runs = find_runs([tmp_path])
    assert [one.variant for one in runs] == ["sync", "b", "a", "other"]
    assert list(compare(runs, baseline="other").groups) == ["other", "sync", "b", "a"]


@pytest.mark.parametrize(
    ("meant", "names", "hint"),
    [
        ("none", ["compression=none", "compression=top-k"], "did you mean 'compression=none'?"),
        (
            "top_k",
            ["a=none_lr=1", "a=top-k_lr=1", "a=top-k_lr=2"],
            "did you mean 'a=top-k_lr=1' or 'a=top-k_lr=2'?",
        ),
        ("non", ["compression=none"], "expected one of: compression=none"),
    ],
)
def test_a_value_of_a_sweep_is_part_of_a_variants_name(
    meant: str, names: list[str], hint: str
) -> None:
    with pytest.raises(InputError, match=re.escape(f"no variant '{meant}' was run; {hint}")):
        require_variant(meant, {name: [] for name in names})
