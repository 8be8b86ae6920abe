"""What the commands that do not run anything print, and how commands end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.cli.errors import guarded
from simfl.errors import InputError, RunError, SimflError
from tests.cli.printing import printed

RUN = "import sys; from simfl.cli import main; sys.exit(main())"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, *words)
    assert text.startswith("Usage: simfl")
    for command in ("run", "validate", "new", "list", "describe", "schema"):
        assert f"\n  {command} " in text


def test_what_only_checks_does_not_offer_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(printed(capsys, "validate", "--help").split())
    assert "...}" not in text  # said of the argument, Typer repeats it
    assert "--time-only Check for a run with --time-only" in text
    assert "Run the clock" not in text


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version").startswith("simfl 0.")


def test_what_a_command_has_made_is_not_looked_through_at_its_end() -> None:
    """After a run Python looked for cycles among all that PyTorch is made of, for half a second."""
    told = "import atexit, gc; atexit.register(lambda: print('kept', gc.get_freeze_count()));"
    words = [sys.executable, "-c", told + RUN, "--version"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert int(done.stdout.split("kept ")[1]) > 0


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


def imported(*commands: list[str]) -> dict[str, set[str]]:
    """Return the modules imported after each of some commands, given one after the other.

    They are most of the time that a short command takes.
    """
    code = (
        "import json, sys; from simfl.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    main(words)\n"
        "    print('imported', *sys.modules, file=sys.stderr)"
    )
    program = [sys.executable, "-c", code, json.dumps(commands)]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    told = [line for line in done.stderr.splitlines() if line.startswith("imported ")]
    return {" ".join(words): set(line.split()) for words, line in zip(commands, told, strict=True)}


def test_help_imports_next_to_nothing() -> None:
    [modules] = imported(["--help"]).values()
    assert "simfl.cli.commands.run" in modules
    assert not {"numpy", "pydantic", "rich", "simpy", "torch", "yaml"} & modules


def test_what_only_reads_imports_neither_torch_nor_pandas(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    assert main(["new", str(file)]) == 0
    for modules in imported(["list"], ["validate", str(file)]).values():
        assert "numpy" in modules
        assert not {"torch", "pandas", "matplotlib", "scipy.stats"} & modules


def test_what_trains_nothing_imports_no_torch(tmp_path: Path) -> None:
    """Not where models are linear layers, of which everything is known without it."""
    file, out = tmp_path / "s.yaml", str(tmp_path / "runs")
    file.write_text(
        "{data: {dataset: synthetic}, model: logistic_regression, rounds: {clients: 3, stop: "
        "{rounds: 2}}, fleet: {count: 30, compute: 5 samples/s}}"
    )
    after = imported(
        ["partition", str(file)],
        ["fleet", str(file)],
        ["run", "--dry-run", str(file), "--out", out],
        ["run", "--time-only", str(file), "--out", out],
    )
    assert [command for command, modules in after.items() if "torch" in modules] == []


def test_new_writes_a_scenario_that_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed(capsys, "new", "s.yaml")
    lines = Path("s.yaml").read_text().splitlines()
    name, seed = (next(x for x in lines if x.startswith(key)) for key in ("name: s ", "seed: 0 "))
    assert name.index("#") == seed.index("#")
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


def test_help_says_in_a_line_what_each_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert "..." not in printed(capsys, "--help").partition("Commands:")[2]


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
            "error: there is too little memory for this: raise the limit, if there is one (ulimit "
            "-v); of a scenario, the model and the data set need most\n",
        ),
        (
            RuntimeError("can't start new thread"),
            1,
            "error: there is no room for another thread; raise the limit (ulimit -u, or -v for "
            "memory) (can't start new thread)\n",
        ),
        (ImportError("no x"), 1, "internal error: ImportError: no x (--debug shows where)\n"),
        (KeyError("x"), 1, "internal error: KeyError: 'x' (--debug shows where)\n"),
    ],
)
def test_every_error_has_its_exit_code_and_its_message(
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


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (FileNotFoundError(2, "No such file or directory"), 2, "error: {}"),
        (RunError("no worker"), 1, "error: no worker ({})"),
    ],
)
def test_a_working_directory_that_goes_meanwhile(
    error: Exception,
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def fail() -> int:
        (tmp_path / "here").rmdir()
        raise error

    assert guarded(fail) == code
    gone = "the folder that simfl was called in is gone"
    assert capsys.readouterr().err == f"{told.format(gone)}\n"


def test_output_that_nobody_reads_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", RUN, "list"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.skipif(os.name == "nt", reason="there is no such shell")
def test_an_error_stream_that_is_closed_gets_nothing() -> None:
    """Python prints on the output instead, where pipes expect a command's answer."""
    closed = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", RUN, "oops"]
    done = subprocess.run(closed, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(("word", "unbuffered"), [("list", ""), ("list", "1"), ("schema", "")])
def test_output_that_does_not_fit_is_told_as_such(word: str, unbuffered: str) -> None:
    """The operating system was blamed; of long outputs Python told once more, and exited by 120."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, word],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    told = b"error: can't write to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_characters_that_the_output_lacks_have_others_in_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(
        "{data: {dataset: synthetic}, model: logistic_regression, "
        "fleet: [{name: slow, count: 3}, {name: fast, count: 3}]}"
    )
    words = ["fleet", str(tmp_path / "s.yaml")]
    told = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        check=True,
        capture_output=True,
        encoding="cp1252",
    ).stdout
    expected = printed(capsys, *words)
    assert "───" in expected
    assert told == expected.replace("─", "-")


@pytest.mark.parametrize(
    "words", ["schema", "list --json", "data --json", "describe datasets synthetic --json"]
)
def test_json_is_the_same_in_whatever_encoding(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the output lacked "µ", a schema with "u" in its place was printed."""
    assert printed(capsys, *words.split()).isascii()


def test_a_command_that_there_is_none_of_is_told_in_sentences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Newer versions of Click ask which was meant."""
    assert main(["ruin"]) == 2
    told = capsys.readouterr().err
    assert "No such command 'ruin'" in told
    assert told.endswith(("? See simfl --help\n", "; see simfl --help\n"))
    assert "?;" not in told
