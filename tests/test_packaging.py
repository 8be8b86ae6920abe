"""Wheel and source distribution hold all that simfl needs, and say one version."""

import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

import simfl

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta as b; b.build_sdist({0!r}); b.build_wheel({0!r})"


def python(*words: str, cwd: Path, path: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    command = [sys.executable, "-P", *words]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both distributions, built of what git would carry with what pyproject.toml asks for."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    tools = tmp_path_factory.mktemp("tools")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools), *needed]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        pytest.skip(f"can't install what simfl is built with: {', '.join(needed)}")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if name.startswith(("simfl/", "scenarios/")) or "/" not in name:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).exists():
                (source / name).write_bytes((ROOT / name).read_bytes())
    python("-c", BUILD.format(str(target)), cwd=source, path=tools)
    return target


@pytest.mark.slow
def test_the_wheel_runs_by_itself(dist: Path, tmp_path: Path) -> None:
    [wheel] = dist.glob("*.whl")
    assert simfl.__version__ in wheel.name
    installed = tmp_path / "installed"
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(installed)]
    python(*pip, str(wheel), cwd=tmp_path)
    main = "import sys; from simfl.cli import main; sys.exit(main())"
    where = python("-c", "import simfl; print(simfl.__file__)", cwd=tmp_path, path=installed)
    assert str(installed) in where
    for words in (
        ["new", "mine.yaml", "--from", "quickstart"],
        ["validate", "mine.yaml"],
        ["run", "mine.yaml", "--quiet", "--set", "rounds.stop={rounds: 1}"],
        ["list"],
        ["describe", "selectors", "fedcor"],
        ["reproduce"],
    ):
        python("-c", main, *words, cwd=tmp_path, path=installed)
    assert len(list((tmp_path / "runs" / "mine").rglob("report.html"))) > 0


@pytest.mark.slow
def test_the_source_distribution_is_whole(dist: Path) -> None:
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    for file in (ROOT / "simfl").rglob("*.py"):
        assert file.relative_to(ROOT).as_posix() in names, file
    assert {"LICENSE", "README.md", "pyproject.toml"} <= names


@pytest.mark.slow
def test_the_source_distribution_works_where_it_is_unpacked(dist: Path, tmp_path: Path) -> None:
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    main = "import sys; from simfl.cli import main; sys.exit(main())"
    for words in (["new", "mine.yaml", "--from", "edge_fleet"], ["validate", "mine.yaml"]):
        python("-c", main, *words, cwd=tmp_path, path=source)
    assert "schema" in (tmp_path / "mine.yaml").read_text()


def test_new_from_a_scenario_that_comes_with_simfl(tmp_path: Path, capsys) -> None:
    from simfl.cli import main

    file = tmp_path / "mine.yaml"
    assert main(["new", str(file), "--from", "quickstart"]) == 0
    assert simfl.Scenario.load(file).name == "mine"
    assert main(["new", str(tmp_path / "other.yaml"), "--from", "quickstrat"]) == 2
    assert "quickstart" in capsys.readouterr().err


def test_it_is_cited_as_what_it_is() -> None:
    """The file had no version, which those who cite it were asked to find out."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == simfl.__version__
    assert cited["license"] == project["license"]
    assert cited["abstract"] == project["description"]
    assert cited["keywords"] == project["keywords"]
