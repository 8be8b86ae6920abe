"""Commands that read a run say which file of its is damaged, and what it lacks."""

import json
from typing import Any

import pytest

from simfl import Options
from simfl.cli import main
from simfl.sim.networks.base import Network
from simfl.sim.networks.shared import Shared
from simfl.sim.policies.base import Process, RoundPolicy, policies
from simfl.sim.server.server import Server
from tests.tiny import RunTiny


def test_a_table_that_has_lost_a_column(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny().folder
    table = folder / "clients.csv"
    table.write_text(table.read_text().replace("round,client,", "round,clien,", 1))
    assert main(["explain", str(folder)]) == 2
    assert f"{table} is damaged: it has no column 'client'" in capsys.readouterr().err


def test_a_table_that_is_gone(run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_tiny().folder
    table = folder / "clients.csv"
    table.unlink()
    assert main(["explain", str(folder)]) == 2
    assert capsys.readouterr().err == f"error: {table} can't be read: No such file or directory\n"


def test_a_metric_that_is_no_number(run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]) -> None:
    """It was an internal error, as was an epsilon."""
    table = run_tiny().folder / "rounds.csv"
    head, *rows = table.read_text().splitlines()
    table.write_text("".join(f"{line}\n" for line in [f"{head},f1", *(f"{r},x" for r in rows)]))
    assert main(["compare", str(table.parent)]) == 2
    assert f"{table} can't be read: " in capsys.readouterr().err


def test_a_summary_that_lacks_a_number(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny().folder
    file = folder / "summary.json"
    summary = json.loads(file.read_text())
    del summary["totals"]["wasted_bytes"]
    file.write_text(json.dumps(summary))
    assert main(["report", str(folder)]) == 2
    assert f"{file} is damaged: it has no 'wasted_bytes'" in capsys.readouterr().err


TELLS_OF_A_RUN = ("resume", "compare", "report", "explain", "verify", "plot", "fork")


@pytest.mark.parametrize("command", TELLS_OF_A_RUN)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("provenance.json", "provenance.json is damaged: Expecting"),
        ("scenario.yaml", "lacks its scenario.yaml; put it back"),
    ],
)
def test_what_is_cut_short_or_gone_is_told_with_what_to_do(
    command: str, name: str, told: str, run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny().folder
    file = folder / name
    if name == "scenario.yaml":
        file.unlink()
    else:
        file.write_text(file.read_text()[:100])
    more = {"plot": ["--out", "x.pdf"], "fork": ["--at", "1s"]}.get(command, [])
    assert main([command, str(folder), *more]) == 2
    err = capsys.readouterr().err
    assert str(folder) in err
    assert told in err
    assert "--overwrite" in err


def test_energy_that_is_said_to_be_known_but_is_not_there_is_told(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was an internal error."""
    provenance = run_tiny().folder / "provenance.json"
    text = provenance.read_text()
    provenance.write_text(text.replace('"powered": false', '"powered": true'))
    for command in ("compare", "report"):
        assert main([command, str(provenance.parent)]) == 2
        assert f"which {provenance} says is known" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("commands", "sound", "damaged", "told"),
    [
        (
            "report compare",
            "every: 1",
            "every: x",
            "evaluation.every: expected a whole number, got",
        ),
        (
            "report compare",
            "targets: [",
            "targets: 3  #",
            "evaluation.targets: expected a list, got",
        ),
        (
            "report explain",
            "from_round: 2",
            "from_round: x",
            "fleet[0].attack.from_round: expected",
        ),
        (
            "report explain",
            "enforce: true",
            "enforce: 7",
            "rounds.policy.enforce: expected true or",
        ),
        ("compare explain", "count: 8", "count: [8]", "fleet[0].count: expected a whole number"),
        (
            "explain",
            "batch_size: 8",
            "batch_size: 0",
            "training.batch_size: expected a whole number",
        ),
        ("explain", "batch_size:", "batch:", "is damaged: it has no 'training.batch_size'"),
        (
            "explain",
            "availability:",
            "availability: [a]  #",
            "fleet[0].availability: expected a name",
        ),
    ],
)
def test_a_scenario_changed_by_hand_is_told_with_its_line(
    commands: str,
    sound: str,
    damaged: str,
    told: str,
    run_tiny: RunTiny,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each ended in an internal error."""
    attack = {"name": "sign_flip", "from_round": 2}
    folder = run_tiny({"fleet.attack": attack, "evaluation.targets": [0.5]}).folder
    file = folder / "scenario.yaml"
    lines = file.read_text().splitlines()
    [line] = [number for number, text in enumerate(lines) if sound in text]
    file.write_text("\n".join(lines).replace(sound, damaged, 1))
    for command in commands.split():
        assert main([command, str(folder)]) == 2
        err = capsys.readouterr().err
        assert told in err
        assert f"{file}:{line + 1}:" in err or f"{file} is damaged" in err


class Firm(RoundPolicy):
    """A user's own policy, with an option that is called as one of another kind."""

    enforce: str = "softly"

    def run(self, server: Server) -> Process:
        return policies.parse({"name": "synchronous", "deadline": "1 s"}).run(server)


class Honeycomb(Network):
    """A user's own network, likewise."""

    cells: tuple[int, ...] = (6,)

    def bind(self, *args: Any, **more: Any) -> Any:
        return Shared().bind(*args, **more)


@pytest.mark.parametrize("name", ["tiny", "synchronous", "shared"])
def test_options_of_components_of_ones_own_are_not_taken_for_those_of_others(
    name: str, run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run was called damaged for what its policy's `enforce` was, or its network's `cells`.

    So was, after that was mended, one of a scenario that is called as such a policy is.
    """
    own = {"name": name, "network": f"{__name__}:Honeycomb", "rounds.policy": f"{__name__}:Firm"}
    folder = run_tiny(own, Options(time_only=True)).folder
    for command in ("compare", "explain", "report"):
        assert main([command, str(folder)]) == 0, capsys.readouterr().err


def test_a_run_without_its_scenario_is_neither_left_out_nor_replaced(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was left out of comparisons without a word, and `simfl run` made it anew in its place."""
    folder = run_tiny().folder
    again, top = folder.parents[2] / "again.yaml", folder.parents[1]
    again.write_text((folder / "scenario.yaml").read_text())
    (folder / "scenario.yaml").unlink()
    before = (folder / "provenance.json").read_bytes()
    for words in (["compare", str(top)], ["run", str(again), "--resume", "--out", str(top)]):
        assert main(words) == 2
        assert "lacks its scenario.yaml" in capsys.readouterr().err
    assert (folder / "provenance.json").read_bytes() == before


@pytest.mark.parametrize("place", ["checkpoint", "checkpoint/state.pt"])
def test_what_is_where_checkpoints_belong_is_told_before_training(
    place: str, run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny().folder
    (folder / "summary.json").unlink()
    if place == "checkpoint":
        (folder / place).write_text("a file")
    else:
        (folder / place).mkdir(parents=True)
    assert main(["resume", str(folder), "-q"]) == 2
    assert f"{folder / place} is a " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "name", "sound", "damaged", "told"),
    [
        (
            "compare",
            "summary.json",
            '"totals": {',
            '"privacy": 1, "totals": {',
            "privacy: expected a mapping, got 1",
        ),
        (
            "report",
            "summary.json",
            '"download_bytes": ',
            '"download_bytes": NaN, "x": ',
            "totals.download_bytes: expected a number or null, got nan",
        ),
        (
            "report",
            "summary.json",
            '"totals": {',
            '"privacy": {"epsilon": "x"}, "totals": {',
            "privacy.epsilon: expected a number or null, got 'x'",
        ),
        (
            "compare",
            "summary.json",
            '"totals": {',
            '"abandoned_rounds": "x", "totals": {',
            "abandoned_rounds: expected a whole number, got 'x'; delete it",
        ),
        (
            "export",
            "provenance.json",
            '"factors": {}',
            '"factors": 0.5',
            "factors: expected a mapping, got",
        ),
        (
            "report",
            "provenance.json",
            '"forks": []',
            '"forks": [1]',
            "forks[0]: expected a mapping",
        ),
        ("verify", "provenance.json", '"device": ', '"on": ', "it has no 'device'"),
        ("explain", "clients.csv", "\n1,", f"\n{'9' * 40},", "clients.csv can't be read"),
        ("fork", "events.jsonl", '{"t":0.0', '[{"t":0.0', "events.jsonl: line 1: "),
    ],
)
def test_what_is_not_what_it_should_be_is_told_with_its_file(
    command: str,
    name: str,
    sound: str,
    damaged: str,
    told: str,
    run_tiny: RunTiny,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All but the last ended in an internal error, and that named no file."""
    folder = run_tiny().folder
    text = (folder / name).read_text()
    assert sound in text
    (folder / name).write_text(text.replace(sound, damaged, 1))
    more = {"export": ["--out", str(folder.parent / "x")], "fork": ["--at", "1s"]}.get(command, [])
    assert main([command, str(folder), *more]) in (1, 2)
    err = capsys.readouterr().err
    assert str(folder / name) in err
    assert told in err
    assert "internal error" not in err
