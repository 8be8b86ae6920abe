"""Shell completion, as shells ask for it: through environment variables."""

import os
import subprocess
import sys

import pytest

RUN = "import sys; from simfl.cli import main; sys.exit(main())"


def asked(*words: str, **variables: str) -> str:
    command = [sys.executable, "-c", RUN, *words]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120
    )
    return done.stdout


def completed(line: str) -> set[str]:
    """Return what bash is offered after `line`."""
    words = line.split(" ")
    variables = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return set(asked(_SIMFL_COMPLETE="complete_bash", **variables).split())


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
def test_names_are_completed(line: str, expected: set[str]) -> None:
    offered = completed(line)
    assert offered >= expected
    begun = line.rpartition(" ")[2]
    assert all(word.startswith(begun) for word in offered)
    assert bool(offered) == bool(expected)


def test_the_script_for_the_shell_is_shown() -> None:
    script = asked(_SIMFL_COMPLETE="source_bash")
    assert "_SIMFL_COMPLETE=complete_bash" in script
    assert "complete -o default" in script


def test_help_says_how_to_install_it() -> None:
    text = asked("--help")
    assert "--install-completion" in text
    assert "--show-completion" in text
