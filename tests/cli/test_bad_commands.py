"""Commands that are given what can't be: changes, options and words, each refused by its name."""

import subprocess
import sys
from pathlib import Path

import pytest

from simfl.cli import main
from tests.cli.refusals import GOOD, refused


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "rounds.clients=x",
            "--set rounds.clients=x: rounds.clients: expected a number of clients",
        ),
        ("rounds.client=3", "--set rounds.client=3: rounds.client: unknown key 'client'"),
        ("rounds.clients", "--set rounds.clients: expected PATH=VALUE"),
        ("=3", "--set =3: expected PATH=VALUE"),
        (
            "rounds.clients=",
            "--set rounds.clients=: the value is empty; is a variable of the shell",
        ),
        ("rounds.clients= ", "(--set rounds.clients=null takes the key away)"),
        ("fleet.7.count=3", "fleet[7].count: fleet has only 2 items"),
        ("fleet.phone.count=3", "fleet is a list, which has no 'phone'; did you mean 'phones'?"),
        ("seed.x=3", "seed.x: seed is 0, which has no 'x'"),
        ("rounds..clients=3", "'rounds..clients' is no path"),
        ("rounds.stop={", "--set rounds.stop={: is no valid YAML: while parsing a flow node did"),
        ("selection.warmup=3", "selection.warmup: unknown key 'warmup'"),
    ],
)
def test_a_change_that_can_not_be_made_is_told_in_one_line(
    change: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(GOOD)
    told = refused(capsys, "validate", "s.yaml", "--set", change)
    assert words in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", str(2**63)], "seeds: must be below 9,223,372,036,854,775,808, but got 9223"),
        (["--seeds", "1,2,1"], "seed 1 is listed twice"),
        (["--device", "gpu"], "unknown device 'gpu'; expected cpu, cuda or auto"),
        (["--device", "cuda:x"], "unknown device 'cuda:x'"),
        (["--device", "cuda:99"], "device 'cuda:99' is not there"),
    ],
)
def test_bad_options_of_a_run(
    options: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(GOOD)
    assert words in refused(capsys, "run", "s.yaml", "--quiet", *options)
    assert [path.name for path in here.iterdir()] == ["s.yaml"]


@pytest.mark.parametrize("value", ["many", "1.5", "0"])
def test_options_that_are_no_such_number_are_told_as_a_scenarios(
    value: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as "Input should be a valid integer", and nothing of what it was."""
    Path("s.yaml").write_text(GOOD)
    told = refused(capsys, "run", "s.yaml", "--jobs", value)
    assert "Input should" not in told
    assert value in told.partition(": ")[2]


def test_time_only_refuses_what_needs_training(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("selection: uniform", "selection: afl")
    Path("s.yaml").write_text(text.replace("{rounds: 100}", "{accuracy: 0.9}"))
    lines = refused(capsys, "validate", "--time-only", "s.yaml").splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(
        "s.yaml:25:9: rounds.stop: needs rounds, time, bytes, energy or epsilon"
    )
    assert lines[1].startswith("s.yaml:26:12: selection: selector 'afl' needs losses")
    assert main(["validate", "s.yaml"]) == 0
    capsys.readouterr()
    assert refused(capsys, "run", "--time-only", "s.yaml").splitlines() == lines


def test_one_variant_is_checked_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run`, `fleet`, `partition` and `tune` took a variant, `validate` did not."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(
        "data: {dataset: synthetic_images}\nmodel: mlp\nfleet: {count: 30}\nvariants:\n"
        "  good: {training.epochs: 2}\n  bad: {rounds.clients: 40}\n"
    )
    assert "40 clients per round" in refused(capsys, "validate", "s.yaml")
    assert main(["validate", "s.yaml", "--variant", "good"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("s.yaml: ok (1 variant, 1 seed)")
    assert "training.epochs" not in told
    assert "there is no variant 'goof'" in refused(
        capsys, "validate", "s.yaml", "--variant", "goof"
    )


@pytest.mark.parametrize("words", [["validat"], ["validate"], ["validate", "s.yaml", "--nope"]])
def test_wrong_usage_is_answered_with_where_the_help_is(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *words).endswith("--help\n")


def test_debug_shows_the_traceback(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "none.yaml", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["validate", "s.yaml"], ["validate", "none.yaml"], ["oops"]])
def test_as_a_user_meets_it_without_heavy_imports(words: list[str], here: Path) -> None:
    Path("s.yaml").write_text(GOOD.replace("selection: uniform", "selection: unifrom"))
    code = (
        "import sys; from simfl.cli import main; code = main();"
        "print(*{'torch', 'pandas', 'scipy', 'matplotlib', 'ray'} & set(sys.modules));"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == "\n"
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert [path.name for path in here.iterdir()] == ["s.yaml"]


@pytest.mark.parametrize(
    "large",
    [
        "model={name: mlp, hidden: [10000000000000]}",  # more than a processor can address
        "model={name: mlp, hidden: [1000000000000000000]}",  # more bytes than 64 bits can count
        "model={name: mlp, hidden: [100000000000000000000]}",  # more units than that
        "data={dataset: {name: synthetic_images, samples: 100000000000000000000}, partition: iid}",
        "data={dataset: {name: synthetic_images, channels: 1000000000000000000}, partition: iid}",
    ],
)
def test_what_is_too_large_for_memory(
    large: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    assert main(["run", str(path), "--set", large, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith((f"error: --set {large}: ", f"error: {path}:6:8: model: "))
    assert "GiB of memory, and" in said or said.endswith(" is larger than any memory")
    assert not (tmp_path / "out").exists()
