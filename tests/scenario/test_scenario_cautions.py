"""What a scenario says in vain, or leaves to a default that does not suit it, is told."""

from pathlib import Path
from typing import Any

import pytest

from simfl import Scenario
from simfl.cli import main
from simfl.report.cautions import not_meant
from simfl.report.comparison_forms import render
from simfl.report.page.notes import notes
from simfl.runs.results.compare import compare
from simfl.scenario.cautions import cautions
from simfl.scenario.language.place import dotted
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


@pytest.mark.parametrize("aggregation", ["fedasync", "fedbuff"])
def test_a_discount_of_staleness_where_nothing_is_stale_is_told(aggregation: str) -> None:
    assert list(told(aggregation=aggregation)) == ["aggregation"]
    assert under({"deadline": "2 s", "late": "carry"}, aggregation=aggregation) == {}


def test_it_is_told_before_a_run_and_beside_its_results(
    run_tiny: RunTiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_tiny({"rounds.policy": "fedasync"})
    [line] = not_meant({"tiny": [result]})
    assert line.startswith("aggregation: fedavg, not given")
    assert ("Perhaps not meant", line) in notes({"tiny": [result]})
    assert line in " ".join(render(compare([result]), "table").split())
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
