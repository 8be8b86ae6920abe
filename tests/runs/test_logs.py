"""What is recorded, on request: less of it, or compressed; what can't be done then is said."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, load, run
from simfl.cli import main
from simfl.errors import InputError, RunError
from simfl.report.page.notes import notes
from simfl.report.page.page import page
from simfl.report.timeline.timeline import trace
from simfl.runs.check import check
from simfl.runs.folder.folder import event_lines
from simfl.runs.folder.growing_file import lines_of
from simfl.runs.run import resume
from simfl.runs.verify import Difference, verify
from tests.tiny import TINY

PACKED = {"compress_log": True}


def done(top: Path, **options: Any) -> Path:
    return run(Scenario.model_validate(TINY), top, Options(**options))[0].folder


def broken_off(top: Path, **options: Any) -> Path:
    """Return the folder of a run that was interrupted in its third round."""

    def stop(_time_s: float, kind: str, facts: dict[str, Any]) -> None:
        if kind == "dispatched" and facts["round"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(
            Scenario.model_validate(TINY), top, Options(checkpoint_every_s=0, **options),
            listen=lambda _: [stop],
        )  # fmt: skip
    return top / "default" / "seed-0"


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return done(tmp_path_factory.mktemp("full"))


def digest(folder: Path) -> str:
    return str(json.loads((folder / "summary.json").read_text()).pop("events_sha256"))


def test_less_is_recorded_and_what_is_left_is_the_same(full: Path, tmp_path: Path) -> None:
    whole = list(event_lines(full))
    rounds, none = done(tmp_path / "a", log="rounds"), done(tmp_path / "b", log="none")
    kinds = ("round", "probe", "probed", "aggregated", "evaluated", "round_end")
    assert list(event_lines(rounds)) == [
        line for line in whole if json.loads(line)["event"] in kinds
    ]
    assert list(event_lines(none)) == []
    for name in ("rounds.csv", "model.pt", "scenario.yaml"):
        assert (full / name).read_bytes() == (rounds / name).read_bytes()
        assert (full / name).read_bytes() == (none / name).read_bytes()
    assert (full / "clients.csv").read_bytes() == (rounds / "clients.csv").read_bytes()
    assert list(lines_of(none / "clients.csv")) == list(lines_of(full / "clients.csv"))[:1]
    summaries = [json.loads((f / "summary.json").read_text()) for f in (full, rounds, none)]
    assert len({summary.pop("events_sha256") for summary in summaries}) == 3
    assert summaries[0] == summaries[1] == summaries[2]


@pytest.mark.parametrize("log", ["rounds", "none"])
def test_what_a_thin_log_can_not_do_is_said(
    tmp_path: Path, log: str, capsys: pytest.CaptureFixture
) -> None:
    folder = done(tmp_path, log=log)
    findings = {finding.law: str(finding) for finding in check(folder)}
    assert findings.pop("readable").endswith("holds")
    for name in ("privacy", "event digest", "scenario digest"):
        assert findings.pop(name).endswith("holds")
    assert len(findings) > 5
    assert all(f"recorded with --log {log}" in told for told in findings.values())
    assert main(["verify", str(folder)]) == 0
    assert f"as far as --log {log} has recorded it" in capsys.readouterr().out
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    note = json.loads(trace(load(folder)))["otherData"]["note"]
    assert note.startswith(f"recorded with --log {log}")
    assert main(["explain", str(folder), "--no-what-if"]) == (2 if log == "none" else 0)
    text = (folder / "rounds.csv").read_text()
    (folder / "rounds.csv").write_text(text.replace("\n2,", "\n7,", 1))
    difference = verify(folder)
    assert isinstance(difference, Difference)
    assert difference.field == "rounds.csv:3"


@pytest.mark.parametrize("log", ["rounds", "none"])
def test_a_thin_log_starts_over_and_says_so(
    tmp_path: Path, log: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected, folder = done(tmp_path / "a", log=log), broken_off(tmp_path / "b", log=log)
    assert not (folder / "checkpoint").exists()
    with caplog.at_level(logging.WARNING):
        resume(folder)
    assert "trains from the start again" in caplog.text
    for name in ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt"):
        assert (folder / name).read_bytes() == (expected / name).read_bytes()


def test_a_thin_log_that_was_doctored_is_not_gone_on_with(tmp_path: Path) -> None:
    folder = broken_off(tmp_path, log="rounds")
    log = folder / "events.jsonl"
    log.write_text(
        log.read_text().replace('"event":"round_end","round":1', '"event":"round_end","round":9')
    )
    with pytest.raises(RunError, match="differs from the recorded one"):
        resume(folder)


def test_a_compressed_log_says_the_same(full: Path, tmp_path: Path) -> None:
    folder = done(tmp_path, **PACKED)
    assert not (folder / "events.jsonl").exists()
    assert list(event_lines(folder)) == list(event_lines(full))
    assert digest(folder) == digest(full)
    assert verify(folder) is None
    assert not any(finding.violation or finding.skipped for finding in check(folder))
    assert main(["report", str(folder)]) == 0


@pytest.mark.parametrize("cut", [0, 1, 7])
def test_a_compressed_log_is_gone_on_with(full: Path, tmp_path: Path, cut: int) -> None:
    """Even if it was cut short in the middle of a frame."""
    folder = broken_off(tmp_path, **PACKED)
    packed = folder / "events.jsonl.zst"
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size - cut])
    resume(folder)
    assert list(event_lines(folder)) == list(event_lines(full))
    for name in ("rounds.csv", "clients.csv", "summary.json", "model.pt"):
        assert (folder / name).read_bytes() == (full / name).read_bytes()


def test_an_unknown_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown log 'some'"):
        Options(log="some")  # type: ignore[arg-type]


def test_nothing_is_said_of_clients_that_nobody_recorded(tmp_path: Path) -> None:
    rare = {"name": "on_off", "on": "30 s", "off": "10 min"}
    scenario = TINY | {
        "fleet": {**TINY["fleet"], "availability": rare},
        "rounds": {"clients": 5, "min_clients": 1, "stop": {"rounds": 3}},
    }
    runs = run(Scenario.model_validate(scenario), tmp_path, Options(log="none", time_only=True))
    heads = dict(notes({"default": runs}))
    assert heads["Rounds ran short"] == "3 of 3 rounds had fewer clients than asked."
    text = page(runs)
    assert "Duration of rounds" in text
    assert "Who was heard how often" not in text


@pytest.mark.parametrize("log", ["full", "none"])
def test_an_unfinished_run_has_moved_what_its_rounds_have(log: Any, tmp_path: Path) -> None:
    cut = load(broken_off(tmp_path, log=log))
    moved = ["download_bytes", "upload_bytes", "probe_bytes"]
    assert cut.total_bytes == cut.rounds[moved].to_numpy().sum() > 0
    assert cut.wasted_bytes == cut.rounds["wasted_bytes"].sum()
