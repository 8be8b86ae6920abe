"""A selector in a package of its own is listed, described, validated, run, held to the contract."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "loudest"
SCENARIO = """
data: {dataset: {name: synthetic_images, samples: 200, test_samples: 50, size: 4}}
model: logistic_regression
fleet: {count: 8}
selection: {name: loudest, shy: true}
rounds: {clients: 3, stop: {rounds: 4}}
"""
CONTRACT = """
from simfl.components.selectors.base import selectors
from simfl.testing.selectors import SelectorContract

class TestLoudest(SelectorContract):
    create = selectors.get("loudest")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the example is installed beside simfl."""
    target = tmp_path_factory.mktemp("plugin")
    source = tmp_path_factory.mktemp("source")
    for file in EXAMPLE.iterdir():  # building writes beside the sources
        if file.is_file():
            (source / file.name).write_bytes(file.read_bytes())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": str(target)}


def simfl(environment: dict[str, str], folder: Path, *words: str) -> str:
    command = [sys.executable, "-c", "import sys; from simfl.cli import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, *words], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_listed_described_validated_and_run(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    assert "loudest" in simfl(installed, tmp_path, "list", "selectors")
    assert "shy" in simfl(installed, tmp_path, "describe", "selectors", "loudest")
    assert "ok" in simfl(installed, tmp_path, "validate", "scenario.yaml")
    simfl(installed, tmp_path, "run", "scenario.yaml", "--quiet")
    assert len(list((tmp_path / "runs").rglob("rounds.csv"))) == 1


@pytest.mark.slow
def test_held_to_the_contract(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "test_loudest.py").write_text(CONTRACT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_loudest.py"]
    done = subprocess.run(command, env=installed, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
