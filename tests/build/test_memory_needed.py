"""What can't fit into memory is refused before it is allocated: Linux would end the run."""

import pytest

from simfl.core import memory
from simfl.errors import ScenarioError
from tests.tiny import RunTiny


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"model": {"name": "mlp", "hidden": [50_000_000]}},
            "model: model 'mlp' with 2,350,000,010 parameters needs 17.5 GiB of memory, and 1.0",
        ),
        (
            {"data.dataset.size": 2000},
            "data.dataset: data set 'synthetic_images' needs 3.6 GiB of memory, and 1.0 are left",
        ),
    ],
    ids=["model", "data"],
)
def test_what_does_not_fit_is_refused_with_its_place(
    changes: dict[str, object], told: str, run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: float(2**30))
    with pytest.raises(ScenarioError, match=told):
        run_tiny(changes)
