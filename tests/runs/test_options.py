"""What nobody may ask of a run, whether it is needed or not."""

from pathlib import Path

import pytest
import torch

from simfl.errors import InputError
from simfl.runs.options import Options


def test_an_executor_that_there_is_not() -> None:
    with pytest.raises(InputError, match="unknown executor 'inlin'; did you mean 'inline'"):
        Options(executor="inlin")


def test_a_data_folder_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere does not exist"):
        Options(data_dir=tmp_path / "nowhere")
    assert Options(data_dir=tmp_path).data_folder() == tmp_path


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("time_only", "yes", "time_only: expected True or False, got 'yes'"),
        ("compress_log", 1, "compress_log: expected True or False, got 1"),
        ("device", torch.device("cpu"), "device: expected a name such as 'cpu', got device"),
        ("executor", None, "executor: expected a name such as 'inline', got None"),
        ("checkpoint_every_s", "5", "checkpoint_every_s: expected seconds, got '5'"),
        ("executor_options", ["workers"], "executor_options: expected a mapping such as"),
        ("data_dir", 5, "data_dir: expected a folder such as 'data', got 5"),
        ("jobs", True, "jobs must be a whole number from 1 on, but got True"),
        ("checkpoint_every_s", True, "checkpoint_every_s: expected seconds, got True"),
        ("workers", "2", "workers must be a whole number from 1 on, but got '2'"),
    ],
)
def test_what_is_of_another_type(field: str, value: object, message: str) -> None:
    """A run with `time_only="yes"` was made, and its folder was then called damaged."""
    with pytest.raises(InputError, match=message):
        Options(**{field: value})  # type: ignore[arg-type]
