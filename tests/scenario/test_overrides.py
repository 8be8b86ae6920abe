import re
from typing import Any

import pytest

from simfl.errors import ScenarioError
from simfl.scenario import Document, Scenario, expand
from simfl.scenario.scenario import read

TEXT = """\
data: {dataset: {name: synthetic, alpha: 1}}
model: logistic_regression
fleet:
  - {name: phones, count: 20}
  - {name: tablets, count: 10}
training: {epochs: 5, optimizer: {lr: 0.5}}
rounds: {clients: 5}
selection: uniform
"""
DOCUMENT = Document.parse(TEXT, "s.yaml")


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ("seed=3", ["seed"], 3),
        ("rounds.clients=7", ["rounds", "clients"], 7),
        ("fleet.0.count=9", ["fleet", 0, "count"], 9),
        ("fleet[1].count=9", ["fleet", 1, "count"], 9),
        ("fleet.tablets.count=9", ["fleet", 1, "count"], 9),
        ("fleet[0].uplink=1 Mbit/s", ["fleet", 0, "uplink"], "1 Mbit/s"),
        ("rounds.stop.time=2 h", ["rounds", "stop"], {"time": "2 h"}),
        (
            "selection.charge_probes=false",
            ["selection"],
            {"name": "uniform", "charge_probes": False},
        ),
        ("selection={name: afl}", ["selection"], {"name": "afl"}),
        ("selection={warmup: 1}", ["selection"], {"name": "uniform", "warmup": 1}),
        ("data.dataset.beta=2", ["data", "dataset"], {"name": "synthetic", "alpha": 1, "beta": 2}),
        ("data.dataset=mnist", ["data", "dataset"], "mnist"),
        ("training={steps: 3}", ["training"], {"epochs": 5, "optimizer": {"lr": 0.5}, "steps": 3}),
        ("training.epochs=null", ["training", "epochs"], None),
        ("training.optimizer.momentum=1e-3", ["training", "optimizer", "momentum"], 1e-3),
        ("evaluation.targets=[0.5, 60%]", ["evaluation", "targets"], [0.5, "60%"]),
        ("description=a = b", ["description"], "a = b"),
        ("fleet=[{count: 3}]", ["fleet"], [{"count": 3}]),
    ],
)
def test_what_is_written_where(change: str, path: list[Any], value: object) -> None:
    before = DOCUMENT.data
    found: Any = DOCUMENT.set(change).data
    for key in path:
        found = found[key]
    assert found == value
    assert Document.parse(TEXT).data == before, "the document itself stays as it was"


def test_the_last_change_wins() -> None:
    scenario = Scenario.from_dict(DOCUMENT.data, overrides=["seed=1", "seed=2"])
    assert scenario.seed == 2


@pytest.mark.parametrize(
    ("change", "stop"),
    [
        ("rounds.stop={rounds: 1000}", (1000, 0.9)),
        ("rounds.stop={rounds: 1000, accuracy: null}", (1000, None)),
        ("rounds.stop.accuracy=null", (5, None)),
    ],
)
def test_a_mapping_leaves_what_it_does_not_name_and_null_takes_away(
    change: str, stop: tuple[int, float | None]
) -> None:
    """As docs/start.md and the help of --set say; a variant's changes do the same."""
    text = f"{TEXT}variants: {{a: {{{change.replace('=', ': ')}}}}}\n"
    text = text.replace("clients: 5}", "clients: 5, stop: {rounds: 5, accuracy: 90%}}")
    [run] = expand(Document.parse(text, "s.yaml"))
    for scenario in (run.scenario, Scenario.from_dict(Document.parse(text, "").set(change).data)):
        assert (scenario.rounds.stop.rounds, scenario.rounds.stop.accuracy) == stop


def test_a_fleet_of_one_group_has_one_name_for_each_thing() -> None:
    document = Document.parse(TEXT.partition("fleet")[0] + "fleet: {name: phones, count: 9}\n")
    listed = Document.of({**document.data, "fleet": [document.data["fleet"]]})
    for path in ("fleet.count", "fleet[0].count", "fleet.0.count", "fleet.phones.count"):
        assert document.set(f"{path}=4").data["fleet"]["count"] == 4
        assert listed.set(f"{path}=4").data["fleet"][0]["count"] == 4


def test_places_follow_the_changes() -> None:
    document = DOCUMENT.set("fleet[1].count=9", "rounds.stop={rounds: 3}")
    assert str(document.place(("fleet", 1, "count"))) == "overrides fleet[1].count=9"
    assert str(document.place(("rounds", "stop", "rounds"))) == "overrides rounds.stop={rounds: 3}"
    assert str(document.place(("fleet", 0, "count"))) == "s.yaml:4:27"
    assert str(document.place(("rounds", "clients"))) == "s.yaml:7:19"
    assert str(document.place(("rounds", "clients"), key=True)) == "s.yaml:7:10"
    assert str(document.place(("rounds", "nothing"))) == "s.yaml:7:9"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("fleet.count=4", "fleet is a list, which has no 'count'"),
        ("fleet[5].count=4", "fleet has only 2 items"),
        ("training.epochs.x=4", "training.epochs is 5, which has no 'x'"),
        ("model", "expected PATH=VALUE"),
        ("a b=4", "is no path"),
        ("rounds.\udcff=4", "is no path"),  # so Python has a byte that is no UTF-8
    ],
)
def test_changes_that_can_not_be_made(change: str, words: str) -> None:
    with pytest.raises(ScenarioError) as told:
        DOCUMENT.set(change)
    assert words in str(told.value)
    assert str(told.value).startswith(f"overrides {change}: ")


def test_a_group_beyond_the_only_one_is_told_alike_with_a_list_and_without() -> None:
    """Without one, `1` was taken for a key of the group."""
    group = {"name": "phones", "count": 3}
    for fleet in (group, [group]):
        with pytest.raises(ScenarioError) as told:
            Document.of({"fleet": fleet}).set("fleet[1].count=4")
        assert str(told.value) == (
            "overrides fleet[1].count=4: fleet[1].count: fleet has only 1 item, counted from 0"
        )


def test_a_distribution_replaces_a_plain_number_and_another_distribution() -> None:
    fleet = {"count": 3, "compute": "50 samples/s"}
    data = {"data": {"dataset": "synthetic"}, "model": "mlp", "fleet": fleet}
    drawn = "{distribution: uniform, min: 20 samples/s, max: 40 samples/s}"
    changed = Document.of(data).set(f"fleet.compute={drawn}")
    assert changed.data["fleet"]["compute"]["max"] == "40 samples/s"
    other = changed.set("fleet.compute={distribution: exponential, mean: 9 samples/s}")
    assert set(other.data["fleet"]["compute"]) == {"distribution", "mean"}


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        (
            "fleet[0].memory={mean: 3 GiB}",
            ["memory"],
            {"distribution": "exponential", "mean": "3 GiB"},
        ),
        (
            "fleet[0].battery.plugged.peak=3 h",
            ["battery", "plugged"],
            {"name": "diurnal", "peak": "3 h"},
        ),
        (
            "fleet[0].battery.plugged={peak: 3 h}",
            ["battery", "plugged"],
            {"name": "diurnal", "peak": "3 h"},
        ),
    ],
)
def test_what_may_be_null_is_changed_as_what_may_not(
    change: str, path: list[Any], value: object
) -> None:
    given = DOCUMENT.set(
        "fleet[0].memory={distribution: exponential, mean: 2 GiB}",
        "fleet[0].battery={capacity: 10 Wh, plugged: diurnal}",
    )
    found: Any = given.set(change).data["fleet"][0]
    for key in path:
        found = found[key]
    assert found == value


@pytest.mark.parametrize(
    "change",
    [
        "network.initial_window=null",
        "network={initial_window: null}",
        "selection=null",
        "fleet[1].latency=null",
        "fleet.tablets.latency=null",
        "training.proximal=null",
    ],
)
def test_null_takes_away_what_can_not_be_null(change: str) -> None:
    """So a variant can leave out what the scenario has; `0 B` had to be known of each."""
    given = DOCUMENT.set(
        "network.initial_window=14480 B",
        "selection=oort",
        "fleet[1].latency=10 ms",
        "training.proximal=0.1",
    )
    part = re.split(r"\W", change)[0]
    without, plain, kept = (read(d).to_dict() for d in (given.set(change), DOCUMENT, given))
    assert without[part] == plain[part] != kept[part]
    assert without == kept | {part: without[part]}


@pytest.mark.parametrize("change", ["model=null", "fleet[0].count=null", "network.buffr=null"])
def test_null_is_no_value_of_what_must_be_given(change: str) -> None:
    with pytest.raises(ScenarioError, match=r"expected a whole number|name of a model|'buffr'"):
        read(DOCUMENT.set(change))


def test_null_takes_away_a_variant() -> None:
    both = DOCUMENT.set("variants={a: {seed: 1}, b: {}}")
    assert list(both.set("variants.a=null").data["variants"]) == ["b"]


def test_null_that_means_something_is_left() -> None:
    """`generator_seed: null` is the run's own seed; its default is a number."""
    dealt = "data.partition={name: power_law_two_digits, generator_seed: null}"
    assert DOCUMENT.set(dealt).data["data"]["partition"]["generator_seed"] is None


def test_another_class_of_devices_brings_its_own_numbers() -> None:
    """Those of a resolved scenario are the old class's, and spelt out; a user's own stay."""
    fleet = {"name": "phones", "count": 20, "device": "phone-low", "uplink": "3 Mbit/s"}
    resolved = Scenario.from_dict({**DOCUMENT.data, "fleet": [fleet]}).to_dict()
    other = {**fleet, "device": "desktop-gpu"}
    expected = Scenario.from_dict({**DOCUMENT.data, "fleet": [other]})
    for path in ("fleet[0].device", "fleet.phones.device"):
        changed = Scenario.from_dict(resolved, overrides=[f"{path}=desktop-gpu"])
        assert changed.fleet == expected.fleet


def test_another_preset_brings_its_own_options() -> None:
    chosen = {"name": "oort", "exploration": 0.5}
    resolved = Scenario.from_dict({**DOCUMENT.data, "selection": chosen}).to_dict()
    changed = Scenario.from_dict(resolved, overrides=["selection.preset=code"])
    expected = Scenario.from_dict({**DOCUMENT.data, "selection": {**chosen, "preset": "code"}})
    assert changed.selection == expected.selection
    assert Scenario.from_dict(resolved, overrides=["selection.preset=paper"]).to_dict() == resolved


@pytest.mark.parametrize("changes", [["preset=code", "decay=0.98"], ["decay=0.98", "preset=code"]])
def test_what_changes_have_said_stays(changes: list[str]) -> None:
    """Also where it is what the old preset says; and so does what is somebody's own."""
    oort = {"name": "oort", "preset": "paper"}
    resolved = Scenario.from_dict({**DOCUMENT.data, "selection": oort}).to_dict()
    own = {**DOCUMENT.data, "selection": {"name": "oort", "decay": 0.98}}
    expected = Scenario.from_dict(own, overrides=["selection.preset=code"]).selection
    assert expected.model_dump()["decay"] == 0.98
    overrides = [f"selection.{change}" for change in changes]
    for document in (resolved, own):
        assert Scenario.from_dict(document, overrides=overrides).selection == expected


def test_another_class_of_devices_brings_powers_phase_by_phase() -> None:
    group = {"count": 30, "device": "phone-low", "power": {"idle": "1 W"}}
    resolved = Scenario.from_dict({**DOCUMENT.data, "fleet": [group]}).to_dict()
    expected = Scenario.from_dict({**DOCUMENT.data, "fleet": [{**group, "device": "phone-high"}]})
    changed = Scenario.from_dict(resolved, overrides=["fleet[0].device=phone-high"])
    assert changed.fleet == expected.fleet
    none = Scenario.from_dict(resolved, overrides=["fleet[0].device=null"])
    assert none.fleet[0].compute == Scenario.from_dict(resolved).fleet[0].compute


@pytest.mark.parametrize(
    "change", ["network.a.preset=1", "selection.inner.preset=1", "fleet.x.y.device=1", "a.device=2"]
)
def test_what_has_no_such_option_is_no_crash(change: str) -> None:
    with pytest.raises(ScenarioError):
        Scenario.from_dict(DOCUMENT.data, overrides=[change])
