"""Data sets of torch: as they are or made, indexed, with draws of their own."""

import numpy as np
import pytest
import torch

from simfl import Scenario
from simfl.components.datasets.base import datasets
from simfl.core.seeds import Seeds
from simfl.errors import InputError, ScenarioError
from tests.components.datasets import own_files
from tests.components.datasets.own_files import parse, scenario


def test_a_data_set_of_torch_as_it_is_or_made(options):
    other = options["torch"]["dataset"]
    train = other.replace("Twos", "train")
    whole = parse(options, "torch", dataset=train, arguments={}, client=None)
    assert whole.load(None, Seeds(0)).train.x.shape == (10, 2)
    made = parse(options, "torch", test_dataset=other, test_arguments={"n": 5})
    made = made.load(None, Seeds(0))
    assert made.train.x[7].tolist() == [[7.0] * 3] * 2
    assert made.test.y.tolist() == [0, 1, 0, 1, 0]
    assert [len(rows) for rows in made.natural] == [4, 4, 4]


def test_data_of_torch_that_are_named_amiss(options):
    """It was no simfl component class, and a loader was not callable."""
    train = options["torch"]["dataset"].replace("Twos", "train")
    with pytest.raises(
        InputError, match=r"named as `dataset: {name: torch, dataset: path.py:name}"
    ):
        datasets.parse(train)
    loader = {"name": "torch", "dataset": train.replace("train", "loader")}
    with pytest.raises(ScenarioError, match=r"is a DataLoader, no torch\.utils\.data\.Dataset"):
        Scenario.from_dict({"fleet": {"count": 3}, "data": {"dataset": loader}})


def test_a_data_set_of_simfl_may_be_indexed(tmp_path):
    """It was taken for one of torch."""
    (tmp_path / "indexed.py").write_text(
        "from simfl.components.datasets.synthetic import Synthetic\n"
        "class Indexed(Synthetic):\n"
        "    def __getitem__(self, i):\n"
        "        return i\n"
    )
    made = datasets.parse(f"{tmp_path / 'indexed.py'}:Indexed")
    assert type(made).__name__ == "Indexed"


def test_what_a_data_set_of_torch_draws_is_the_same_in_every_run(tmp_path):
    """Every load had other data: variants that differ in nothing differed."""
    (tmp_path / "drawn.py").write_text(
        "import random\nimport numpy as np\nimport torch\n"
        "class Drawn(torch.utils.data.Dataset):\n"
        "    def __len__(self):\n        return 20\n"
        "    def __getitem__(self, i):\n"
        "        return torch.randn(2) + random.random() + np.random.rand(), i % 2\n"
    )
    named = {"name": "torch", "dataset": f"{tmp_path / 'drawn.py'}:Drawn"}
    state = torch.get_rng_state()
    first, second = (datasets.parse(named).load(None, Seeds(0)) for _ in range(2))
    assert np.array_equal(first.train.x, second.train.x)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("{}[i]", r"Own': sample 0: KeyError: 0 \(.*own_pairs\d+\.py:5\)"),
        ("{'x': 1}", "sample 0, a dict, is no pair of an input .numbers. and a label: KeyError"),
        (
            "__import__('numpy').arange(3)",
            "sample 0, a ndarray, is no pair of .*: it is an input alone",
        ),
        ("('a', 1)", "sample 0, a tuple, is no pair of .*: could not convert string to float: 'a'"),
        ("([0.0], [1] * (1 + i // 3))", r"sample 3 has a label of shape \(2,\), sample 0 one of"),
    ],
)
def test_a_sample_that_is_no_pair_is_told(sample, message, tmp_path):
    """Which sample it was, and the line that raised, were not."""
    file = tmp_path / f"own_pairs{next(own_files.COUNT)}.py"
    file.write_text(
        "class Own:\n    def __len__(self):\n        return 9\n"
        f"    def __getitem__(self, i):\n        return {sample}\n"
    )
    with pytest.raises(InputError, match=message):
        scenario({"name": "torch", "dataset": f"{file}:Own"})
