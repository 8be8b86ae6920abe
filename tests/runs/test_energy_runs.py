"""Ends by time and energy, and energy that is not known."""

import csv
import io
import json
import math

import pytest

from simfl import Scenario
from simfl.errors import InputError, ScenarioError
from simfl.report.comparison.forms import render
from simfl.report.plot import plot
from simfl.runs.forks.fork import fork
from simfl.runs.results.compare import compare
from simfl.runs.run import resume
from tests.run_folders import broken
from tests.tiny import TINY, RunTiny


def test_a_run_whose_time_is_up_ends_then_though_nothing_happens(run_tiny: RunTiny) -> None:
    """Nobody is at work, for the quorum is never there."""
    stop = {"rounds.stop": {"rounds": 3, "time": "1 h"}, "rounds.min_clients": 8}
    result = run_tiny({**stop, "fleet.availability": {"name": "on_off", "on": "1 s", "off": "9 s"}})
    assert result.summary["finished"] == "time"
    assert result.n_rounds == 0
    assert result.end_s == result.summary["virtual_time_s"] == 3600.0
    assert broken(result.folder) == []


def test_a_run_ends_once_so_much_energy_is_spent(run_tiny: RunTiny) -> None:
    """30 samples twice at 30 samples/s and 3 W are 6 J; four clients a round."""
    fleet = {"count": 8, "compute": "30 samples/s", "power": {"compute": "3 W"}}
    changes = {"fleet": fleet, "rounds": {"clients": 4, "stop": {"energy": "60 J", "rounds": 9}}}
    result = run_tiny(changes)
    assert result.summary["finished"] == "energy"
    assert result.rounds.energy_j.tolist() == [24.0, 24.0, 24.0]
    assert broken(result.folder) == []
    with pytest.raises(InputError, match=r"rounds\.stop\.energy: 30.* was reached before"):
        fork(result.folder, 5.0, ["rounds.stop.energy=30 J"])
    with pytest.raises(InputError, match=r"48 J was reached before"):  # but for rounding
        fork(result.folder, 5.0, [f"rounds.stop.energy={48 * (1 + 5e-13)!r} J"])
    with pytest.raises(InputError, match=r"rounds\.stop\.energy: no group .* `power`"):
        run_tiny({"rounds": changes["rounds"]})


def test_energy_is_not_known_where_no_group_says_what_power_it_takes(run_tiny: RunTiny) -> None:
    """It was 0 J, as if no device had used any."""
    result = run_tiny({"evaluation.targets": [0.05]})
    assert result.summary["targets"]["0.05"]["energy_j"] is None
    totals = result.summary["totals"]
    assert (totals["energy_j"], totals["idle_energy_j"]) == (None, None)
    for table in ("rounds.csv", "clients.csv"):
        text = (result.folder / table).read_text()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["energy_j"] for row in rows} == {""}
    assert result.rounds.idle_energy_j.isna().all()
    assert math.isnan(result.total_energy_j)
    assert "energy" not in render(compare([result]), "csv")
    assert broken(result.folder) == []
    with pytest.raises(InputError, match=r"none of the runs has any energy .* `power`"):
        plot([result], y="energy")


def test_tables_older_than_the_word_for_power_stay_as_they_are(run_tiny: RunTiny) -> None:
    """What is replayed must equal what is recorded, and had 0 J."""
    result = run_tiny()
    path = result.folder / "provenance.json"
    provenance = json.loads(path.read_text())
    del provenance["powered"]
    path.write_text(json.dumps(provenance))
    for name in ("rounds.csv", "clients.csv", "events.jsonl", "summary.json"):
        (result.folder / name).unlink()
    again = resume(result.folder)
    assert again.rounds.energy_j.tolist() == [0.0] * 4
    assert math.isnan(again.total_energy_j)


def test_energy_alone_does_not_end_a_run_whose_work_takes_none() -> None:
    """Equal devices never wait for each other: it went on for ever."""
    nothing = dict.fromkeys(("download", "compute", "upload"), "0 W")
    fleet = {**TINY["fleet"], "power": {"idle": "1 W", **nothing}}
    ends = {"energy": "1 kJ"}
    with pytest.raises(ScenarioError, match=r"rounds\.stop: needs more than energy"):
        Scenario.from_dict({**TINY, "fleet": fleet, "rounds": {"clients": 4, "stop": ends}})
    both = {"clients": 4, "stop": {**ends, "rounds": 3}}
    assert Scenario.from_dict({**TINY, "fleet": fleet, "rounds": both}).rounds.stop.rounds == 3
