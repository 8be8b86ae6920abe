"""What a run's folder says of its scenario, however that is written."""

from pathlib import Path

import pytest

from simfl.runs.folder.files import RunFiles


@pytest.mark.parametrize(
    ("text", "loss", "planned"),
    [
        ("training: {loss: cross_entropy}\nrounds: {stop: {rounds: 7}}", "cross_entropy", 7),
        ("training: {loss: {name: own.py:Loss, k: 1}}\nrounds: {stop: {time: 1 h}}",
         "own.py:Loss", None),
        ("training: null\nrounds: [1]", "", None),
    ],
)  # fmt: skip
def test_a_component_and_a_number_are_found_or_nothing_is(
    text: str, loss: str, planned: int | None, tmp_path: Path
) -> None:
    (tmp_path / "scenario.yaml").write_text(text)
    files = RunFiles(tmp_path)
    assert files.component("training", "loss") == loss
    assert files.planned_rounds == planned
    assert files.written("training", "loss", "name", "further") is None
