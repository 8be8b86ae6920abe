"""`simfl check`: sound folders pass, and whatever is doctored breaks the law that it is about."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pydantic import Field

from simfl import Options, Scenario, load, run
from simfl.cli import main
from simfl.core.units import Duration
from simfl.errors import InputError
from simfl.runs.check import check
from simfl.runs.folder.folder import event_lines
from simfl.runs.folder.tables import read_table
from simfl.runs.laws import LAWS
from simfl.sim.policies.synchronous import Synchronous
from tests.runs.doctored import FORGED, in_log, put
from tests.tiny import TINY

BUSY = {
    **TINY,
    "fleet": {
        **TINY["fleet"],
        "downlink": "2 Mbit/s",
        "availability": {"name": "on_off", "on": "2 s", "off": "500 ms"},
        "on_offline": "pause",
        "power": {"idle": "1 W", "download": "2 W", "compute": "4 W", "upload": "3 W"},
    },
    "selection": {"name": "power_of_choice", "candidates": 5},
    "rounds": {
        "clients": 3,
        "policy": {"name": "synchronous", "deadline": {"stragglers": "40%"}},
        "stop": {"rounds": 4, "time": "1 h"},
    },
    "evaluation": {"targets": [0.1]},
}
BUFFERED = {**TINY, "rounds": {"clients": 4, "policy": "fedbuff", "stop": {"rounds": 3}}}
BUFFERED["rounds"]["policy"] = {"name": "fedbuff", "buffer": 2, "max_staleness": 5}

LEAVING = {
    **BUSY,
    "fleet": {
        **BUSY["fleet"],
        "availability": {"name": "on_off", "on": "300 ms", "off": "300 ms"},
        "on_offline": "abort",
    },
    "selection": "uniform",
    "rounds": {
        "clients": 3,
        "policy": {"name": "semi_synchronous", "period": "400 ms"},
        "stop": {"rounds": 12},
    },
}
ASKING_AT_ONCE = {  # tiers ask the same of the same clients, and some ask in vain
    **TINY,
    "fleet": [
        {"name": "phones", "count": 2, "compute": "60 samples/s"},
        {
            "name": "boards",
            "count": 2,
            "compute": "60 samples/s",
            "availability": {"name": "on_off", "on": "300 ms", "off": "300 ms"},
        },
    ],
    "data": {"dataset": {"name": "synthetic_images", "samples": 90, "test_samples": 20, "size": 4}},
    "model": "logistic_regression",
    "training": {"epochs": 1, "batch_size": 8},
    "rounds": {
        "clients": 1,
        "policy": {"name": "tiered", "tiers": 3},
        "stop": {"rounds": 3, "time": "8 s"},
    },
    "selection": "afl",
}
AT_EDGES = {
    **BUSY,
    "rounds": {
        "clients": 4,
        "policy": {"name": "hierarchical", "edges": 2, "deadline": "600 ms", "latency": "20 ms"},
        "stop": {"rounds": 3},
    },
}
ABANDONING = {
    **BUSY,
    "rounds": {
        "clients": 3,
        "policy": {"name": "synchronous", "deadline": {"stragglers": "30%"}, "min_updates": 3},
        "stop": {"rounds": 8, "time": "1 h"},
    },
}
FAILING = {
    **TINY,
    "fleet": {**TINY["fleet"], "failures": "30%"},
    "selection": {"name": "power_of_choice", "candidates": 6},
}
PRIVATE = {
    **TINY,
    "aggregation": {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 2},
    "rounds": {"clients": 4, "stop": {"epsilon": 4}},
}
SOUND = {
    "busy": BUSY, "buffered": BUFFERED, "leaving": LEAVING, "asking at once": ASKING_AT_ONCE,
    "at edges": AT_EDGES, "abandoning": ABANDONING, "failing": FAILING, "private": PRIVATE,
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs by name."""
    top = tmp_path_factory.mktemp("runs")
    return {
        name: run(Scenario.from_dict(scenario), top / name)[0].folder
        for name, scenario in SOUND.items()
    }


@pytest.fixture
def busy(sound: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a run's folder, to be doctored."""
    return Path(shutil.copytree(sound["busy"], tmp_path / "copy"))


def broken(folder: Path) -> dict[str, str]:
    return {finding.law: finding.violation for finding in check(folder) if finding.violation}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_run(sound: dict[str, Path], name: str, capsys: pytest.CaptureFixture) -> None:
    folder = sound[name]
    assert main(["check", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(folder)
    assert len(lines) == len(LAWS) + 2
    assert all(line.endswith(" holds") for line in lines[1:])


def test_the_run_to_be_doctored_has_something_of_everything(busy: Path) -> None:
    log = (busy / "events.jsonl").read_text()
    for words in ('"probed"', '"offline"', '"target"', '"outcome":"late"', '"outcome":"arrived"'):
        assert words in log


def test_a_run_without_training(tmp_path: Path) -> None:
    [result] = run(Scenario.from_dict(BUFFERED), tmp_path, Options(time_only=True))
    assert broken(result.folder) == {}


def test_microseconds_of_a_transfer_that_is_away_for_months(tmp_path: Path) -> None:
    """Of a difference of months and 400 times away, rounding was more than a law allows."""
    fleet = {
        "count": 1,
        "compute": "1e12 samples/s",
        "downlink": "20 Mbit/s",
        "power": {"download": "5 kW"},
        "availability": {"name": "on_off", "on": "1 us", "off": "6 h"},
        "on_offline": "pause",
    }
    scenario = {**TINY, "seed": 4, "fleet": fleet}
    scenario["rounds"] = {"clients": 1, "stop": {"rounds": 1}}
    [result] = run(Scenario.from_dict(scenario), tmp_path, Options(time_only=True))
    assert broken(result.folder) == {}


class Patient(Synchronous):
    """A user's own policy, with an option that is called as one of simfl's."""

    timeout: Duration = Field(1e-3, description="after which it looks again")


def test_deadlines_of_a_users_own_policy_are_not_guessed_at(tmp_path: Path) -> None:
    """Everybody who arrived was told to have been due after an option of the same name."""
    scenario = {**TINY, "rounds": {**TINY["rounds"], "policy": f"{__name__}:Patient"}}
    [result] = run(Scenario.from_dict(scenario), tmp_path, Options(time_only=True))
    found = {finding.law: finding for finding in check(result.folder)}
    assert not any(finding.violation for finding in found.values())
    assert found["deadlines"].skipped.startswith("not checked: only the code of ")


@pytest.mark.parametrize("name", FORGED)
def test_what_is_doctored_breaks_its_law(
    busy: Path, name: str, capsys: pytest.CaptureFixture
) -> None:
    law, forge, words = FORGED[name]
    forge(busy)
    assert words in broken(busy)[law]
    assert main(["check", str(busy)]) == 1
    assert f"  {law} " in capsys.readouterr().out


def test_every_law_has_a_folder_that_breaks_it() -> None:
    assert {law for law, _, _ in FORGED.values()} == {"readable", *(law.name for law in LAWS)}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("logged", [1.0, 0.4], ids=["behind", "ahead"])
def test_an_unfinished_run(busy: Path, share: float, logged: float) -> None:
    """What a killed run leaves, or a full disk: a log that may end anywhere, tables likewise."""
    (busy / "summary.json").unlink()
    for name, ahead in (("events.jsonl", logged), ("clients.csv", 0.8), ("rounds.csv", 0.5)):
        text = (busy / name).read_text()
        (busy / name).write_text(text[: int(len(text) * share * ahead)])
    findings = check(busy)
    assert [finding for finding in findings if finding.violation] == []
    skipped = [finding.law for finding in findings if finding.skipped]
    assert skipped == [law.name for law in LAWS if law.finished]


def test_a_run_that_ends_while_it_is_read(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log was read before it ended, its summary afterwards: the laws of both were broken."""
    log, summary = busy / "events.jsonl", busy / "summary.json"
    whole, told = log.read_text(), summary.read_text()
    log.write_text(whole[: len(whole) // 2])
    summary.unlink()

    def meanwhile(folder: Path) -> Iterator[str]:
        yield from event_lines(folder)
        log.write_text(whole)
        summary.write_text(told)

    monkeypatch.setattr("simfl.runs.folder.records.event_lines", meanwhile)
    assert [finding for finding in check(busy) if finding.violation] == []


def test_a_table_of_a_run_that_ends_while_it_is_read(
    busy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary, table = busy / "summary.json", busy / "rounds.csv"
    told, whole = summary.read_text(), table.read_text()
    table.write_text("".join(whole.splitlines(keepends=True)[:2]))
    summary.unlink()

    def meanwhile(path: Path, row: type) -> pd.DataFrame:
        read = read_table(path, row)
        table.write_text(whole)
        summary.write_text(told)
        return read

    monkeypatch.setattr("simfl.runs.folder.run_tables.read_table", meanwhile)
    run = load(busy)
    assert (run.n_rounds, run.finished) == (1, False)


def test_an_unfinished_run_whose_clock_runs_back(busy: Path) -> None:
    (busy / "summary.json").unlink()
    in_log(busy, "round", put("t", 99.0))
    assert "clock" in broken(busy)


def test_what_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        check(tmp_path)
    with pytest.raises(InputError, match="is not a run folder"):
        check(str(tmp_path))
    with pytest.raises(InputError, match="folder: expected a run folder"):
        check(5)  # type: ignore[arg-type]
    assert main(["check", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such folder" in capsys.readouterr().err


def test_a_folder_of_runs_is_checked_run_by_run(
    busy: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    shutil.copytree(busy, tmp_path / "several" / "a")
    shutil.copytree(busy, tmp_path / "several" / "b")
    assert main(["check", str(tmp_path / "several")]) == 0
    told = capsys.readouterr().out.splitlines()
    hold = f"{len(LAWS) + 1} laws hold"  # a line each said "holds": 500 for 25 runs
    assert [Path(line).name for line in told[:-1]] == [f"a: {hold}", f"b: {hold}"]
    assert told[-1] == "2 runs: nothing is broken"
    law, forge, _ = next(iter(FORGED.values()))
    forge(tmp_path / "several" / "b")
    assert main(["check", str(tmp_path / "several")]) == 1
    first, second, *broken_laws, last = capsys.readouterr().out.splitlines()
    assert first.endswith(hold)
    assert not second.endswith(hold)
    assert any(line.startswith(f"  {law} ") for line in broken_laws)
    assert last == f"BROKEN in 1 of 2 runs: {tmp_path / 'several' / 'b'}"
