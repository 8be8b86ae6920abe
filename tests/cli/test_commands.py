"""What the commands that do not run anything print."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.cli.errors import guarded
from simfl.core.rows import RoundRow, header
from simfl.errors import InputError, RunError, SimflError
from simfl.runs.folder.summary import MEANINGS
from simfl.scenario.distributions import DISTRIBUTIONS
from simfl.scenario.parts.catalogue import catalogue
from simfl.scenario.reference.kinds import KINDS, registry

RUN = "import sys; from simfl.cli import main; sys.exit(main())"
ALL = [(kind, name) for kind in KINDS for name in registry(kind).names()]
ALL += [("distributions", name) for name in DISTRIBUTIONS]
ALL += [("devices", name) for name in catalogue()]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *words)
    assert text.startswith("Usage: simfl")
    for command in ("run", "validate", "new", "list", "describe", "schema"):
        assert f"\n  {command} " in text


def test_what_only_checks_does_not_offer_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(printed(capsys, "validate", "--help").split())
    assert "--time-only Check for a run with --time-only" in text
    assert "Run the clock" not in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version").startswith("simfl 0.")


def test_components_may_lie_in_the_current_folder(tmp_path: Path) -> None:
    """Whether simfl is started as a script, which does not look there, or by `python -m`."""
    mine = "from simfl.components.selectors.uniform import Uniform\nclass Mine(Uniform): ...\n"
    (tmp_path / "of_my_own.py").write_text(mine)
    (tmp_path / "s.yaml").write_text(
        "{data: {dataset: synthetic}, model: logistic_regression, fleet: {count: 3}, "
        "selection: 'of_my_own:Mine'}"
    )
    words = [sys.executable, "-P", "-c", RUN, "validate", "s.yaml", "--allow-code"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("s.yaml: ok (1 variant, 1 seed)\n"), done.stderr


def imported(*words: str) -> set[str]:
    """Return the modules that a command imports: most of the time that a short one takes."""
    code = "import sys; from simfl.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    words = (sys.executable, "-c", code, *words)
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return set(done.stderr.split())


def test_help_imports_next_to_nothing() -> None:
    modules = imported("--help")
    assert "simfl.cli.commands.run" in modules
    assert not {"numpy", "pydantic", "rich", "simpy", "torch", "yaml"} & modules


def test_validate_imports_neither_torch_nor_pandas(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    assert main(["new", str(file)]) == 0
    modules = imported("validate", str(file))
    assert "numpy" in modules
    assert not {"torch", "pandas", "matplotlib", "scipy.stats"} & modules


def test_new_writes_a_scenario_that_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed(capsys, "new", "my first.yaml").startswith("wrote my first.yaml")
    text = Path("my first.yaml").read_text()
    schema = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert json.loads(Path(schema).read_text()) == json.loads(printed(capsys, "schema"))
    assert "\nname: my-first " in text
    assert text.count("#") > 10, "commented"
    told = printed(capsys, "validate", "my first.yaml")
    assert told.startswith("my first.yaml: ok (3 variants, 1 seed)\n")


def test_new_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("precious")
    assert main(["new", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text() == "precious"
    assert main(["new", str(tmp_path / "no" / "s.yaml")]) == 2
    assert "can't write" in capsys.readouterr().err


def test_list_has_a_line_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list").splitlines()
    for kind in (*KINDS, "distributions", "devices"):
        assert f"{kind}:" in lines
    found = json.loads(printed(capsys, "list", "--json"))
    assert [(kind, name) for kind, members in found.items() for name in members] == ALL
    assert all(text for members in found.values() for text in members.values())
    assert len(lines) == len(ALL) + len(KINDS) + 2


@pytest.mark.parametrize("columns", [60, 80])
def test_a_list_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    whole = printed(capsys, "list", "datasets").splitlines()
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = printed(capsys, "list", "datasets").splitlines()
    assert max(map(len, lines)) <= columns
    left = len("synthetic_regression  ")
    assert [line.split()[0] for line in lines if line[0] != " "] == registry("datasets").names()
    assert all(line[:left].isspace() and line[left] != " " for line in lines if line[0] == " ")
    assert " ".join(lines).split() == " ".join(whole).split()
    monkeypatch.setenv("COLUMNS", "200")
    assert printed(capsys, "list", "datasets").splitlines() == whole


def test_list_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list", "selectors").splitlines()
    assert [line.split()[0] for line in lines] == registry("selectors").names()

    assert printed(capsys, "list", "selector").splitlines() == lines
    assert printed(capsys, "list", "device") == printed(capsys, "list", "devices")


def test_describe_without_a_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "describe", "oort") == printed(capsys, "describe", "selectors", "oort")
    assert printed(capsys, "describe", "phone-mid").startswith("phone-mid (device class)\n")
    assert main(["describe", "fedbuff"]) == 2
    told = "`simfl describe policies fedbuff` or `simfl describe aggregators fedbuff`"
    assert told in capsys.readouterr().err
    assert main(["describe", "ort"]) == 2
    assert "unknown component or key 'ort'; did you mean 'oort'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            "FedProx",
            "`simfl describe workloads partial_epochs`, `simfl describe training.proximal`",
        ),
        ("fedavg-ds", "`simfl describe workloads full`"),
        ("qsgd", "`simfl describe compressors quantize`"),
    ],
)
def test_a_method_that_goes_by_other_names(
    method: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The README's table of methods is what newcomers ask for first."""
    assert main(["describe", method]) == 2
    assert capsys.readouterr().err.endswith(f"{method!r}; what papers call so: {told}\n")


def test_a_component_of_ones_own_is_described_with_its_kind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`mine.py:Net` alone was answered with "did you mean 'min'?"."""
    assert main(["describe", "mine.py:Net"]) == 2
    told = "'mine.py:Net'; say of which kind it is, such as `simfl describe datasets mine.py:Net`\n"
    assert capsys.readouterr().err.endswith(told)


@pytest.mark.parametrize("kind", ["losses", "loss", "devices", "availability", "distribution"])
def test_describing_a_kind_lists_it(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "describe", kind) == printed(capsys, "list", kind)
    told = printed(capsys, "describe", kind, "--json")
    assert told == printed(capsys, "list", kind, "--json")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("fleet", "fleet (key of a scenario)"),
        ("fleet", "uplink: a data rate, or a distribution (default unlimited)"),
        ("fleet", "trace: a mapping, or a list of mappings: see `simfl describe fleet.trace`"),
        ("fleet.count", "count: whole number >= 1, <= 1000000000 (default none) number of devi"),
        ("data", "partition: a partition, by name or with options (default none) who holds"),
        ("data", "dataset: a dataset, by name or with options (required)"),
        ("rounds.clients", "clients (default none) selected per round: a number, or a share of"),
        ("rounds.stop", "time: a duration | null > 0 (default none) virtual time; units: us, ms"),
        ("stop", "rounds.stop (key of a scenario)"),
        ("fleet[0].trace", "columns: a mapping of names to mappings: see `simfl describe fleet."),
        ("deadline", "rounds.policy.deadline (option of policies synchronous)"),
        ("rounds.policy", "One of: fedasync, fedbuff, semi_synchronous, synchronous, tiered (s"),
        ("random", "simfl describe sweep.random"),
        ("fleet.compute", "Distributions: constant, normal, lognormal, uniform, exponential, zipf"),
        ("lognormal", "median: quantity | null (default none)"),
        ("uniform", "so too: `simfl describe distributions uniform`"),
    ],
)
def test_keys_of_scenarios_are_described(
    path: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in " ".join(printed(capsys, "describe", path).split())


def test_columns_of_runs_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, "describe", "rounds.csv")
    assert [line[2:] for line in told.splitlines() if re.match("  [a-z]", line)] == header(RoundRow)
    assert "Of the bytes down and up, those of" in printed(capsys, "describe", "wasted_bytes")
    clients = " ".join(printed(capsys, "describe", "clients.csv").split())
    assert "late: cut off or too late; offline: the device left" in clients
    columns = json.loads(printed(capsys, "describe", "summary.json", "--json"))["columns"]
    assert columns == MEANINGS
    assert [
        one["file"] for one in json.loads(printed(capsys, "describe", "energy_j", "--json"))
    ] == [
        "rounds.csv",
        "clients.csv",
    ]
    accuracy = printed(capsys, "describe", "accuracy")  # a key of a scenario, first of all
    assert accuracy.startswith("rounds.stop.accuracy (key of a scenario)\n")
    assert "A column of rounds.csv is called so too: simfl describe rounds.csv" in accuracy


def test_what_is_like_nothing_is_told_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    """All 600 names were listed."""
    assert main(["describe", "events.jsonl"]) == 2
    told = "unknown component or key 'events.jsonl'; `simfl list` has the components, "
    assert told in (error := capsys.readouterr().err)
    assert len(error) < 200


def test_keys_are_described_as_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(printed(capsys, "describe", "rounds.stop", "--json"))
    assert told["path"] == "rounds.stop"
    assert [option["name"] for option in told["options"]][:2] == ["rounds", "time"]
    several = json.loads(printed(capsys, "describe", "deadline", "--json"))
    assert [one["of"] for one in several] == [
        [["policies", "synchronous"]],
        [["policies", "tiered"]],
    ]


def test_names_of_several_keys_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "lr"]) == 2
    told = (
        "several keys are called 'lr'; describe one of:\n  training.optimizer.lr\n  aggregation.lr"
    )
    assert told in capsys.readouterr().err
    assert main(["describe", "fleat"]) == 2
    assert "did you mean 'fleet'?" in capsys.readouterr().err


def test_help_says_in_a_line_what_each_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert "..." not in printed(capsys, "--help").partition("Commands:")[2]


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_describe_everything(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "describe", kind, name)
    found = json.loads(printed(capsys, "describe", kind, name, "--json"))
    assert text.startswith(f"{name} ({found['kind']})\n")
    assert found["module"].startswith("simfl.")
    assert found["text"]
    for option in found["options"]:
        assert f"\n  {option['name']}" in text
        assert option["description"], f"option {option['name']} of {kind} {name} is not described"


def test_describe_tells_units_defaults_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "describe", "networks", "shared")
    assert "server_uplink: a data rate (default unlimited)" in text
    assert "units: bit/s, kbit/s, Mbit/s, Gbit/s" in " ".join(text.split())
    text = printed(capsys, "describe", "workload", "coreset")
    assert "method: a coreset, by name or with options (default k_medoids)" in text
    assert "arXiv:2402.00219" in text


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(printed(capsys, "schema"))
    assert schema["required"] == ["data", "model", "fleet"]


def test_validate_with_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    assert main(["new", str(file)]) == 0
    capsys.readouterr()
    assert "3 variants, 5 seeds" in printed(capsys, "validate", str(file), "--set", "seeds=0-4")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (InputError("no such thing"), 2, "error: no such thing\n"),
        (RunError("no memory left"), 1, "error: no memory left\n"),
        (SimflError("oh"), 1, "error: oh\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (
            OSError(28, "No space left on device", "runs"),
            1,
            "error: runs: No space left on device\n",
        ),
        (
            ImportError("libc10.so: failed to map segment from shared object"),
            1,
            "error: there is too little memory to load or open something (libc10.so: failed to map "
            "segment from shared object)\n",
        ),
        (
            OSError(12, "Cannot allocate memory", "torch"),
            1,
            "error: there is too little memory to load or open something ([Errno 12] Cannot "
            "allocate memory: 'torch')\n",
        ),
        (
            MemoryError(),
            1,
            "error: what the scenario asks for does not fit into memory: the model or the data "
            "set\n",
        ),
        (
            RuntimeError("can't start new thread"),
            1,
            "error: there is no room for another thread; raise the limit (ulimit -u) (can't start "
            "new thread)\n",
        ),
        (ImportError("no x"), 1, "internal error: ImportError: no x (--debug shows where)\n"),
        (KeyError("x"), 1, "internal error: KeyError: 'x' (--debug shows where)\n"),
    ],
)
def test_exit_codes(
    error: BaseException, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise error

    assert guarded(fail) == code
    assert capsys.readouterr() == ("", told)
    assert guarded(fail, debug=True) == code
    assert "Traceback" in capsys.readouterr().err


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    code = f"import os; os.rmdir({str(tmp_path)!r}); {RUN}"
    done = subprocess.run(
        [sys.executable, "-c", code, "list"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == b"error: the folder that simfl was called in is gone\n"


def test_output_that_nobody_reads_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", RUN, "list"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["list"], ["schema"]])
def test_output_that_does_not_fit_is_told_as_such(words: list[str], unbuffered: str) -> None:
    """The operating system was blamed; of long outputs Python told once more, and exited by 120."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *words],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    told = b"error: can't write to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_characters_that_the_output_lacks_have_others_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "{data: {dataset: synthetic}, model: logistic_regression, "
        "fleet: [{name: slow, count: 3}, {name: fast, count: 3}]}"
    )
    words = [sys.executable, "-c", RUN, "fleet", str(tmp_path / "s.yaml")]
    told = {
        encoding: subprocess.run(
            words,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=True,
            capture_output=True,
            encoding=encoding,
        ).stdout
        for encoding in ("utf-8", "cp1252")
    }
    assert "───" in told["utf-8"]
    assert told["cp1252"] == told["utf-8"].replace("─", "-")


def test_a_command_that_there_is_none_of_is_told_in_sentences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Newer versions of Click ask which was meant."""
    assert main(["ruin"]) == 2
    told = capsys.readouterr().err
    assert "No such command 'ruin'" in told
    assert told.endswith(("? See simfl --help\n", "; see simfl --help\n"))
    assert "?;" not in told
