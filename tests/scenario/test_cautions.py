"""What a scenario says in vain, or leaves to a default that does not suit it, is told."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from simfl import Scenario
from simfl.cli import main
from simfl.components.aggregators.median import Median
from simfl.components.models.mlp import Mlp
from simfl.core.units import Percent
from simfl.report.caveats.headings import not_meant
from simfl.report.comparison.forms import render
from simfl.report.page.notes import notes
from simfl.runs.results.compare import compare
from simfl.scenario.cautions import cautions
from simfl.scenario.language.place import dotted
from simfl.sim.policies.synchronous import Synchronous
from simfl.training.flat import build
from simfl.training.flops import training_flops
from tests.counting import calls
from tests.tiny import TINY, RunTiny


def told(**changes: Any) -> dict[str, str]:
    scenario = Scenario.from_dict(TINY | changes)
    return {dotted(path): text for path, text in cautions(scenario)}


def under(policy: Any, **changes: Any) -> dict[str, str]:
    return told(rounds=TINY["rounds"] | {"policy": policy}, **changes)


def test_nothing_is_told_of_an_ordinary_scenario() -> None:
    assert told() == {}


@pytest.mark.parametrize(
    ("policy", "suited"),
    [("fedasync", "fedasync"), ("fedbuff", "fedbuff"), ("tiered", "fedat or fedbuff")],
)
def test_an_aggregation_that_was_not_chosen_for_its_policy_is_told(
    policy: str, suited: str
) -> None:
    """Each update replaced the model under FedAsync, without a word."""
    assert under(policy) == {
        "aggregation": f"fedavg, not given; policy {policy!r} goes with {suited}"
    }
    assert under(policy, aggregation="fedavg") == {}
    resolved = Scenario.from_dict(TINY | {"rounds": {"policy": policy}}).to_dict()
    assert list(cautions(Scenario.from_dict(resolved))) == []


def test_a_filter_by_signs_that_compression_leaves_none_of_is_told() -> None:
    """From the second round on CMFL kept every update back."""
    path, sparse = "training.filter", {"name": "top_k", "share": "5%"}

    def filtering(filter_: Any, compression: Any = sparse) -> dict[str, str]:
        return told(training=TINY["training"] | {"filter": filter_, "compression": compression})

    assert filtering("cmfl")[path].startswith("every update may be kept back: 0.8 of its signs ")
    assert "(compression top_k: 5% each)" in filtering({"name": "cmfl", "threshold": 0.5})[path]
    for fitting in ({"name": "cmfl", "threshold": 0.05}, {"name": "cmfl", "decay": "sqrt"}):
        assert path not in filtering(fitting)
    assert path not in filtering({"name": "cmfl", "variant": "current_mean"})
    assert path not in filtering("cmfl", "float16")


class Sturdy(Median):
    """A user's own robust rule, which says how much of a round it withstands."""

    most: Percent = 0.1

    @override
    def withstands(self, clients: int | None) -> tuple[str, float]:
        return "most", self.most


def test_a_robust_aggregation_that_is_made_for_fewer_attackers_is_told() -> None:
    """Krum's default withstands one; three of a round's six attack on average."""

    def against(rule: Any, policy: str = "synchronous", attack: Any = "sign_flip") -> Any:
        fleet = [{"name": "good", "count": 4}, {"name": "bad", "count": 4, "attack": attack}]
        rounds = {"clients": 6, "policy": policy}
        return told(fleet=fleet, rounds=rounds, aggregation=rule)

    half = {"name": "trimmed_mean", "trim": "40%"}
    some = "4 of 8 devices attack, so 3 of a round's 6 clients on average"
    assert some in against({"name": "krum", "byzantine": 1})["aggregation.byzantine"]
    assert some in against(half)["aggregation.trim"]
    come = "so 50% of those that come together on average"
    assert come in against(half, "fedbuff")["aggregation.trim"]
    assert some in against({"name": f"{__name__}:Sturdy", "most": "20%"})["aggregation.most"]
    assert against({"name": f"{__name__}:Sturdy", "most": "50%"}) == {}
    assert against("median") == against(half, attack=None) == against("krum", attack=None) == {}
    assert against("krum", "fedbuff") == {}, "how many come together is not known"


SELDOM = {**TINY["fleet"], "availability": {"name": "on_off", "on": "10 min", "off": "4 h"}}


def test_a_quorum_that_is_not_there_in_a_week_is_told() -> None:
    """`simfl fleet` alone knew of it; a run looked for it through 30 days of virtual time."""
    count = SELDOM["count"]
    [(path, text)] = told(fleet=SELDOM, rounds=TINY["rounds"] | {"min_clients": count}).items()
    assert path == "rounds.min_clients"
    assert text.startswith(f"a round begins once {count} clients are available at once; in a week")
    assert "about" not in text
    assert told(fleet=SELDOM, rounds=TINY["rounds"] | {"min_clients": 1}) == {}
    many, all_of_them = {**SELDOM, "count": 400}, TINY["rounds"] | {"min_clients": 400}
    estimated = told(fleet=many, rounds=all_of_them)["rounds.min_clients"]
    assert re.search(r"in a week never more than about \d+ of 400 devices", estimated)
    assert "rounds.min_clients" not in told(fleet=SELDOM, rounds={"policy": "fedbuff"})


class Patient(Synchronous):
    """A user's own policy, which says by its class how it waits."""


def test_a_policy_of_ones_own_is_asked_how_it_waits() -> None:
    """Only simfl's were: nothing was told of a quorum that is never there, or an idle discount."""
    own = TINY["rounds"] | {"policy": f"{__name__}:Patient", "min_clients": SELDOM["count"]}
    assert list(told(fleet=SELDOM, rounds=own)) == ["rounds.min_clients"]
    assert list(under(own["policy"], aggregation="fedbuff")) == ["aggregation"]


def test_a_quorum_that_is_soon_there_is_not_looked_for_through_a_week() -> None:
    """Each run of a sweep, and each change of explain, took seconds where sessions are short."""
    minutes = {"name": "on_off", "on": "1 min", "off": "1 min"}
    groups = [{**TINY["fleet"], "name": n, "count": 20, "availability": minutes} for n in "ab"]
    rounds = {"clients": 27}
    data = {**TINY["data"], "partition": "iid"}
    scenario = Scenario.from_dict(TINY | {"data": data, "fleet": groups, "rounds": rounds})
    assert list(cautions(scenario)) == []
    assert calls(lambda: list(cautions(scenario))) < 100_000


def test_sessions_of_milliseconds_are_not_listed_one_by_one() -> None:
    """Thousands were, three times over, before it was found that there are too many: seconds."""
    blinks = {"name": "on_off", "on": "5 ms", "off": "20 ms"}
    fleet = {**TINY["fleet"], "count": 20, "availability": blinks}
    data = {**TINY["data"], "partition": "iid"}
    scenario = Scenario.from_dict(TINY | {"data": data, "fleet": fleet, "rounds": {"clients": 19}})
    assert [path[-1] for path, _ in cautions(scenario)] == ["clients"]
    assert calls(lambda: list(cautions(scenario))) < 500_000


def test_a_quorum_of_all_who_ever_come_is_there(tmp_path: Path) -> None:
    """Two of six devices are ever online: a round that asks more makes do with them."""
    rows = [f"{device},0,60,{int(device < 2)}" for device in range(6)]
    (tmp_path / "t.csv").write_text("\n".join(["device,start_s,end_s,state", *rows, ""]))
    trace = {"name": "trace", "file": "t.csv"}
    fleet = {**TINY["fleet"], "count": 6, "availability": trace}
    changes = {"folder": str(tmp_path), "fleet": fleet}
    assert told(**changes, rounds={"clients": 4}) == {}
    assert list(told(**changes, rounds={"clients": 4, "min_clients": 3})) == ["rounds.min_clients"]


@pytest.mark.parametrize("aggregation", ["fedasync", "fedbuff"])
def test_a_discount_of_staleness_where_nothing_is_stale_is_told(aggregation: str) -> None:
    assert list(told(aggregation=aggregation)) == ["aggregation"]
    assert under({"deadline": "2 s", "late": "carry"}, aggregation=aggregation) == {}


def test_free_probes_of_who_makes_none_are_told() -> None:
    free = {"charge_probes": False}
    told_of_uniform = told(selection={"name": "uniform", **free})
    assert told_of_uniform == {"selection.charge_probes": "without effect: it asks clients nothing"}
    for asks in ("power_of_choice", "oort"):  # before a round, and beside updates
        assert told(selection={"name": asks, **free}) == {}


@pytest.mark.parametrize("partition", ["dirichlet_skewness", "skewness"])
def test_more_samples_for_each_client_than_there_are_are_told(partition: str) -> None:
    """A FedACS client of 800 samples trained on its default of 2,000: so it trains on what others
    keep aside, though on none that it keeps aside itself."""
    data = TINY["data"] | {"dataset": {"name": "synthetic_images", "samples": 800}}
    dealt = data | {"partition": {"name": partition, "samples": 801}}
    [(path, text)] = told(data=dealt).items()
    assert path == "data.partition"
    assert text == "801 of 800 samples for each client, so each holds some several times"
    [text] = told(data=dealt | {"local_validation": 0.1}).values()
    assert text.endswith("several times; others train on what it keeps aside by `local_validation`")
    assert told(data=data | {"partition": {"name": partition, "samples": 800}}) == {}


def test_samples_that_are_made_on_demand_are_not_kept_aside() -> None:
    kept = {"local_validation": 0.2}
    told_of_generated = told(data={"dataset": "generated", **kept}, model="logistic_regression")
    why = "without effect: samples that are made on demand are not kept aside"
    assert told_of_generated == {"data.local_validation": why}
    assert told(data=TINY["data"] | kept) == {}


@pytest.mark.parametrize(
    ("rows", "learned"),
    [
        ([[3, 0, 1], [1, 2, 3]], True),
        ([[0, 0, 1], [2, 0, 0], [0, 3, 0], [0, 0, 0]], False),
    ],
)
def test_a_token_that_is_taken_for_padding_is_told(
    tmp_path: Path, rows: list[list[int]], learned: bool
) -> None:
    """What stood for the most frequent word, say, stayed at zero without a word."""
    x = np.array(rows * 60)
    np.savez(tmp_path / "texts.npz", x=x, y=np.arange(len(x)) % 4)
    texts = {"name": "npz", "file": str(tmp_path / "texts.npz"), "inputs_are": "tokens"}
    own, model = {"dataset": texts}, {"name": "fedcore_lstm", "hidden": 4}
    why = "token 0 is an ordinary token in the data, but its embedding stays at zero; with null, "
    expected = {"model.padding": f"{why}it is learned, too"} if learned else {}
    assert told(data=own, model="fedcore_lstm") == expected
    assert told(data=own, model={**model, "padding": None}) == {}
    assert told(data=own, model={**model, "padding": 3}) == {}


def test_shakespeares_line_break_is_no_padding() -> None:
    leaf = {"dataset": "shakespeare", "partition": "natural"}
    assert [*told(data=leaf, model="fedcore_lstm")] == ["model.padding"]
    fedcore = {**leaf, "dataset": {"name": "shakespeare", "vocabulary": "fedcore"}}
    assert told(data=fedcore, model="fedcore_lstm") == {}


@pytest.mark.parametrize(("stride", "overlap"), [(1, True), (79, True), (80, False)])
def test_text_that_is_kept_aside_and_trained_on_is_told(stride: int, overlap: bool) -> None:
    plays = {"dataset": {"name": "shakespeare", "vocabulary": "fedcore", "stride": stride}}
    assert told(data=plays, model="fedcore_lstm") == {}
    found = told(data={**plays, "local_validation": 0.2}, model="fedcore_lstm")
    assert [*found] == ["data.local_validation"] * overlap


def test_a_delta_at_which_one_of_all_could_be_given_away_is_told() -> None:
    private = {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 1}
    assert told(aggregation=private) == {}
    [(path, text)] = told(aggregation={**private, "delta": 0.125}).items()
    assert path == "aggregation.delta"
    assert text.startswith("0.125 is not below 1 / 8 devices")


def test_flops_that_tell_nothing_of_so_small_a_model_are_told() -> None:
    """A Raspberry Pi's 4.5 GFLOP/s were 140 million samples/s of a model of ten parameters."""
    fleet = [
        {"name": "pis", "count": 5, "device": "raspberry-pi-3"},
        {"name": "some", "count": 5, "compute": {"distribution": "lognormal", "median": "9 TFLOP/s",
                                                 "sigma": 1}},
        {"name": "measured", "count": 5, "compute": "9000000 samples/s"},
    ]  # fmt: skip
    small = told(fleet=fleet, model="logistic_regression")
    assert list(small) == ["fleet[0].compute", "fleet[1].compute"]
    per_sample = 2 * 2 * 36 * 10  # forward, and the gradient of its weights: TINY has 6 x 6 pixels
    assert small["fleet[0].compute"].startswith(f"{4.5e9 / per_sample:,.0f} samples/s, for so sm")
    large = told(fleet=fleet[:1], model={"name": "mlp", "hidden": [2000]})
    assert large == {}


@pytest.mark.parametrize("hidden", [[], [7], [7, 5]])
def test_flops_of_linear_layers_are_those_that_are_counted(hidden: list[int]) -> None:
    fleet = [{"count": 5, "compute": "9 TFLOP/s"}]
    [text] = told(fleet=fleet, model={"name": "mlp", "hidden": hidden}).values()
    module = build(Mlp(hidden=tuple(hidden)), (1, 6, 6), 10)
    assert text.startswith(f"{9e12 / training_flops(module, (1, 6, 6)):,.0f} samples/s")


def test_it_is_told_before_a_run_and_beside_its_results(
    run_tiny: RunTiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_tiny({"rounds.policy": "fedasync"})
    [line] = not_meant({"tiny": [result]})
    assert line.startswith("aggregation: fedavg, not given")
    assert ("Perhaps not meant", line) in notes({"tiny": [result]})
    assert f"Perhaps not meant: {line}" in " ".join(render(compare([result]), "table").split())
    (tmp_path / "s.yaml").write_text(
        "data: {dataset: synthetic_images}\nmodel: mlp\nfleet: {count: 30}\n"
        "rounds: {policy: fedasync}\n"
    )
    assert main(["validate", str(tmp_path / "s.yaml")]) == 0
    _, _, below = capsys.readouterr().out.partition("  perhaps not meant:\n")
    assert below.startswith("    aggregation: fedavg, not given")


def test_a_correlation_with_what_is_the_same_everywhere_is_told() -> None:
    """It asked for something that can't be, and nothing was said."""
    spread = {"distribution": "uniform", "min": "1 Mbit/s", "max": "9 Mbit/s"}
    fleet = [
        {"name": "a", "count": 2, "uplink": "1 Mbit/s", "downlink": spread},
        {"name": "b", "count": 2, "uplink": spread, "downlink": spread},
    ]
    pairs = {"uplink~downlink": 0.5, "downlink~samples": 0.5, "battery~downlink": 0.5}
    assert told(fleet=fleet, correlate=pairs) == {
        "correlate.uplink~downlink": "without effect in a: every device has the same uplink",
        "correlate.battery~downlink": "without effect: every device has the same battery",
    }


CORESET = {"training": TINY["training"] | {"workload": "coreset"}}
PARTIAL = {"training": TINY["training"] | {"workload": "partial_epochs"}}
RANDOM = {"workload": {"name": "coreset", "method": "random", "feature_cost": 0.5}}
PAUSES = {"count": 8, "on_offline": "pause"}
OUTAGES = {"name": "on_off", "on": "1 min", "off": "1 min"}
JITTERS = {"count": 8, "link_jitter": {"sigma": 0.5}}
LATE = {"count": 8, "attack": {"name": "sign_flip", "from_round": 5}}
"""Of rounds of which there are four."""
TRIMMED = {"aggregation": "trimmed_mean"}
BUFFERED = {"aggregation": "fedbuff"}
NORMALISED = {"aggregation": "fednova"}
STEPS = {"training": {"steps": 3, "batch_size": 8}}


@pytest.mark.parametrize(
    ("policy", "changes", "idle"),
    [
        ({}, CORESET, "training.workload"),
        ({"deadline": "9 s", "enforce": False}, PARTIAL, "training.workload"),
        ({"name": "fedbuff", "timeout": "9 s"}, PARTIAL | BUFFERED, "training.workload"),
        ({"name": "semi_synchronous", "period": "9 s"}, PARTIAL, "training.workload"),
        ({"deadline": "9 s"}, {"training": RANDOM}, "training.workload.feature_cost"),
        ({"late": "carry"}, {}, "rounds.policy.late"),
        ({"late": "carry", "deadline": "9 s", "enforce": False}, {}, "rounds.policy.late"),
        ({"enforce": False}, {}, "rounds.policy.enforce"),
        ({}, {"fleet": PAUSES}, "fleet[0].on_offline"),
        ({}, {"fleet": JITTERS}, "fleet[0].link_jitter"),
        ({}, TRIMMED, "aggregation.trim"),
        ({}, {"fleet": LATE}, "fleet[0].attack"),
        ({}, NORMALISED | STEPS, "aggregation"),
    ],
)
def test_what_is_set_in_vain_is_told(policy: Any, changes: dict[str, Any], idle: str) -> None:
    """Clients trained in full, say, that a coreset was to spare that."""
    [(path, text)] = under(policy, **changes).items()
    assert path == idle
    assert text.startswith("without effect: ")


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ({"deadline": "9 s"}, CORESET),
        ({"deadline": {"stragglers": "30%"}}, PARTIAL),
        ({"name": "tiered", "deadline": "9 s"}, PARTIAL | BUFFERED),
        ({"deadline": "9 s", "late": "carry"}, {}),
        ({"over_select": "150%", "late": "carry"}, {}),
        ({"deadline": "9 s", "enforce": False}, {}),
        ({}, {"fleet": PAUSES | {"availability": OUTAGES}}),
        ({}, {"fleet": PAUSES | {"battery": "9 Wh", "power": {"compute": "3 W"}}}),
        ({}, {"fleet": JITTERS | {"uplink": "1 Mbit/s"}}),
        ({}, {"aggregation": {"name": "trimmed_mean", "trim": "25%"}}),
        ({"deadline": "9 s", "late": "carry"}, TRIMMED),
        ({}, {"fleet": LATE | {"attack": {"name": "sign_flip", "from_round": 4}}}),
        ({}, NORMALISED),
        ({}, NORMALISED | {"training": STEPS["training"] | {"workload": "random_epochs"}}),
    ],
)
def test_what_may_have_an_effect_is_not(policy: Any, changes: dict[str, Any]) -> None:
    assert under(policy, **changes) == {}


def test_a_setting_that_is_told_to_be_in_vain_changes_nothing(run_tiny: RunTiny) -> None:
    events = run_tiny().summary["events_sha256"]
    for path, value in {
        "training.workload": "partial_epochs",
        "rounds.policy": {"late": "carry", "enforce": False},
        "fleet.on_offline": "pause",
    }.items():
        assert run_tiny({path: value}).summary["events_sha256"] == events, path
