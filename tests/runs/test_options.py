"""What nobody may ask of a run, whether it is needed or not."""

from pathlib import Path

import pytest

from simfl.errors import InputError
from simfl.runs.options import Options


def test_an_executor_that_there_is_not() -> None:
    with pytest.raises(InputError, match="unknown executor 'inlin'; did you mean 'inline'"):
        Options(executor="inlin")


def test_a_data_folder_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere does not exist"):
        Options(data_dir=tmp_path / "nowhere")
    assert Options(data_dir=tmp_path).data_folder() == tmp_path
