"""Shell completion, as shells ask for it: through environment variables."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

import pytest

from simfl.cli import main
from simfl.report.comparison.forms import FORMATS
from simfl.report.plot import BANDS
from simfl.report.plot.measures import XS, YS

Asked = Callable[..., str]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Run the command in the environment that a shell gives it; return what it prints."""

    def ask(*words: str, **variables: str) -> str:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with suppress(SystemExit):  # so completion ends
            main(words)
        return capsys.readouterr().out

    return ask


def asks(line: str) -> dict[str, str]:
    """Return what bash sets to have `line` completed."""
    return {
        "_SIMFL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("simfl re", {"report", "resume"}),
        ("simfl list sel", {"selectors"}),
        ("simfl describe partitions dir", {"dirichlet", "dirichlet_skewness"}),
        ("simfl describe nonsense d", set()),
        ("simfl data fetch m", {"mnist", "mlab_ndt"}),
        ("simfl new x.yaml --from quick", {"quickstart"}),
        ("simfl run x.yaml --executor in", {"inline"}),
        ("simfl compare runs --format m", {"markdown"}),
    ],
)
def test_names_are_completed(asked: Asked, line: str, expected: set[str]) -> None:
    offered = set(asked(**asks(line)).split())
    assert offered >= expected
    begun = line.rpartition(" ")[2]
    assert all(word.startswith(begun) for word in offered)
    assert bool(offered) == bool(expected)


@pytest.mark.parametrize(
    ("command", "option", "choices"),
    [
        ("plot", "--kind", ("curves", "tradeoff")),
        ("plot", "--x", XS),
        ("plot", "--y", YS),
        ("plot", "--band", BANDS),
        ("compare", "--format", FORMATS),
    ],
)
def test_what_commands_write_out_is_what_there_is(
    asked: Asked, command: str, option: str, choices: Iterable[str]
) -> None:
    """They can't ask the modules that know, which take longer to import than a page of help."""
    assert asked(**asks(f"simfl {command} runs {option} ")).split() == list(choices)


def test_a_process_of_its_own_says_the_same(asked: Asked) -> None:
    variables = asks("simfl list sel")
    command = [sys.executable, "-c", "import sys; from simfl.cli import main; sys.exit(main())"]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == asked(**variables)


def test_the_script_for_the_shell_is_shown(asked: Asked) -> None:
    script = asked(_SIMFL_COMPLETE="source_bash")
    assert "_SIMFL_COMPLETE=complete_bash" in script
    assert "complete -o default" in script


def test_help_says_how_to_install_it(asked: Asked) -> None:
    text = asked("--help")
    assert "--install-completion" in text
    assert "--show-completion" in text
