"""Pages to look at in a browser."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from simfl.report import write_report
from simfl.runs.results.result import RunResult
from tests.made_runs import made_run


@pytest.fixture(scope="module")
def nine(tmp_path_factory: pytest.TempPathFactory) -> Sequence[RunResult]:
    """Nine variants with two seeds that end apart, one of them badly named."""
    top = tmp_path_factory.mktemp("nine")
    names = [f"variant-{index}" for index in range(8)] + ["</script><b>&amp;"]
    return [
        made_run(
            top, name.replace("/", "|"), seed, [0.08 * n + 0.01 * i for n in range(1, 9 + seed)]
        )
        for i, name in enumerate(names)
        for seed in (0, 1)
    ]


@pytest.fixture(params=["compared", "alone", "nine"])
def page(
    request: pytest.FixtureRequest,
    compared: list[RunResult],
    nine: Sequence[RunResult],
    tmp_path: Path,
) -> Path:
    runs = {"compared": compared, "alone": compared[:1], "nine": nine}[request.param]
    return write_report(runs, tmp_path / "written.html")
