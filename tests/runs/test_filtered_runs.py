"""Runs whose clients or server keep updates back."""

import pytest

from simfl import Options, Scenario, UpdateFilter
from simfl.components.filters.base import Stage, Update
from simfl.errors import InputError
from tests.run_folders import broken
from tests.tiny import TINY, RunTiny


def test_published_cmfl_uploads_a_status_instead_of_an_irrelevant_update(
    run_tiny: RunTiny,
) -> None:
    changes = {"training.filter": {"name": "cmfl", "threshold": 0.8}, "rounds.stop.rounds": 8}
    result = run_tiny(changes)
    rows = result.clients
    filtered = rows[rows.outcome == "filtered"]
    assert 0 < len(filtered) < len(rows)
    assert set(filtered.upload_bytes) == {4}
    assert (rows[rows["round"] == 1].outcome == "arrived").all()  # no reference yet
    assert result.summary["trainings"]["computed"] == len(rows)  # deciding needs the update
    assert (filtered.steps > 0).all()


def test_a_server_side_filter_saves_no_bytes(run_tiny: RunTiny) -> None:
    plain = run_tiny()
    changed = run_tiny({"training.filter": {"name": "cmfl", "variant": "current_mean"}})
    assert plain.summary["totals"]["upload_bytes"] == changed.summary["totals"]["upload_bytes"]


def test_what_the_server_filters_out_does_not_count(run_tiny: RunTiny) -> None:
    strict = {"name": "cmfl", "variant": "current_mean", "threshold": 1.0}
    result = run_tiny({"training.filter": strict})
    rows, rounds = result.clients, result.rounds
    filtered = rows[rows.outcome == "filtered"]
    assert (rounds.arrived == 1).all()  # where none agrees enough, the most agreeing one counts
    assert (rounds.filtered == rounds.selected - 1).all()
    assert rounds.wasted_bytes.sum() == (filtered.download_bytes + filtered.upload_bytes).sum()
    assert (rounds.last_arrival_s < rows.groupby("round").upload_end_s.max().to_numpy()).any()
    assert broken(result.folder) == []


ENDLESS = 1000
"""So many rounds only a run has that goes on for ever."""


class Discards(UpdateFilter):
    """Lets nobody through who has arrived, from the second round on."""

    @property
    def stage(self) -> Stage:
        return "server"

    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        assert round_ < ENDLESS, "nothing ends the run"
        return round_ < 2


@pytest.mark.parametrize("selection", ["oort", "divfl", "fedacs"])
def test_where_no_update_passes_the_model_stays(run_tiny: RunTiny, selection: str) -> None:
    changes = {"training.filter": f"{__name__}:Discards", "selection": selection}
    result = run_tiny({**changes, "evaluation.every": 1})
    accuracy = result.rounds.accuracy
    assert len(accuracy) > 2
    assert (accuracy[1:] == accuracy[0]).all()
    assert (result.rounds.filtered[1:] == result.rounds.selected[1:]).all()
    assert result.summary["trainings"]["computed"] == len(result.clients)


class Withholds(UpdateFilter):
    """Has clients send nothing but a status, from the second round on."""

    @property
    def stage(self) -> Stage:
        return "client"

    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        assert round_ < ENDLESS, "nothing ends the run"
        return round_ < 2


def test_a_run_whose_clients_keep_all_updates_back_comes_to_an_end(
    run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each status that came was something heard, and it went on for ever."""
    monkeypatch.setattr("simfl.sim.server.silence.MANY_IN_VAIN", 40)
    monkeypatch.setattr("simfl.sim.server.silence.EACH_IN_VAIN", 1)
    stop = {"rounds": None, "accuracy": 1.0}
    changes = {"training.filter": f"{__name__}:Withholds", "rounds.stop": stop}
    result = run_tiny(changes, Options(executor="inline"))
    assert result.summary["finished"].startswith("no update counted of 40 participations or more")
    assert result.rounds.arrived.sum() == 4
    assert broken(result.folder) == []


@pytest.mark.parametrize("policy", ["synchronous", "fedasync", "hierarchical"])
def test_a_run_whose_server_throws_all_updates_away_comes_to_an_end(
    run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setattr("simfl.sim.server.silence.MANY_IN_VAIN", 40)
    monkeypatch.setattr("simfl.sim.server.silence.EACH_IN_VAIN", 1)
    stop = {"rounds": None, "accuracy": 1.0}
    changes = {"training.filter": f"{__name__}:Discards", "rounds.stop": stop}
    result = run_tiny({**changes, "rounds.policy": policy}, Options(executor="inline"))
    assert result.summary["finished"].startswith("no update counted of 40 participations or more")
    assert (result.rounds.arrived > 0).tolist() == [True] + [False] * (len(result.rounds) - 1)
    assert broken(result.folder) == []


def test_a_filter_needs_training(run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match="time_only"):
        run_tiny({"training.filter": "cmfl"}, Options(time_only=True))


@pytest.mark.parametrize("policy", ["fedasync", "fedbuff", "tiered"])
def test_a_run_that_may_wait_forever_for_updates_needs_another_end(policy: str) -> None:
    changes = ["training.filter=cmfl", f"rounds.policy={policy}"]
    with pytest.raises(InputError, match="to name a time: filter 'cmfl' may keep every"):
        Scenario.from_dict(TINY, overrides=changes)
    Scenario.from_dict(TINY, overrides=[*changes, "rounds.stop.time=1 h"])
    Scenario.from_dict(TINY, overrides=changes[:1])
