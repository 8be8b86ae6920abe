"""Draws from the global state of libraries, which no seed decides, are told of by name."""

import random  # noqa: TID251  # what a user's component should not
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import Field
from torch import nn

from simfl import Model, Options, Scenario, Selector, run
from tests.tiny import TINY

DRAWS = {
    "numpy.random": lambda: np.random.rand(),
    "random": lambda: random.random(),
    "torch": lambda: torch.rand(1),
}


class Chancy(Selector):
    """Draws once from the global generator of a `library`, if that is one."""

    library: str = Field("", description="whose")

    def select(self, view, reports, k, rng):
        if view.round == 2 and self.library:
            DRAWS[self.library]()
        return view.draw(k, rng)


class Wet(Model):
    """Drops out units, in training, and begins at random."""

    def build(self, shape, classes):
        layers = nn.Linear(int(np.prod(shape)), 8), nn.Dropout(0.5), nn.Linear(8, classes)
        return nn.Sequential(nn.Flatten(), *layers)


def told(folder: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, Any]) -> list[str]:
    """Return the warnings of a run."""
    run(Scenario.from_dict({**TINY, **changes}), folder, Options("inline", jobs=1))
    return [record.getMessage() for record in caplog.records if "global" in record.getMessage()]


@pytest.mark.parametrize("library", DRAWS)
def test_a_component_that_draws_from_global_state_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, library: str
) -> None:
    selection = {"name": f"{__name__}:Chancy", "library": library}
    variants = {"one": {}, "two": {"training.epochs": 1}}
    [line] = told(tmp_path, caplog, {"selection": selection, "variants": variants})
    assert line.startswith(
        f"selector '{__name__}:Chancy': the global random state of {library} changed during the run"
    )


def test_nothing_is_told_of_components_that_draw_from_what_they_are_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = {"selection": f"{__name__}:Chancy", "model": f"{__name__}:Wet"}
    assert told(tmp_path, caplog, parts) == []
