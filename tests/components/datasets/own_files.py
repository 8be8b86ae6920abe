"""Small data sets as files: two classes, three clients, some samples for testing."""

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from simfl import Scenario
from simfl.components.datasets.base import datasets
from tests.tiny import TINY

COUNT = itertools.count()
N = 24
PARQUET = importlib.util.find_spec("pyarrow") is not None
HUB = importlib.util.find_spec("datasets") is not None
MODULE = """\
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

train = TensorDataset(torch.arange(24.0).reshape(12, 2), torch.arange(12) % 2)
loader = DataLoader(train)


class Twos(Dataset):
    def __init__(self, n, owners=3):
        self.n, self.owners = n, [i % owners for i in range(n)]

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((2, 3), float(i)), i % 2


class Ragged(Twos):
    def __getitem__(self, i):
        return torch.zeros(i), 0


def nothing():
    return 3
"""


def table() -> dict[str, Any]:
    """Return columns `a`, `b`, `kind`, `who` and `part`."""
    rng = np.random.default_rng(0)
    return {
        "a": rng.normal(size=N).round(3),
        "b": np.arange(N),
        "kind": np.array(["cat", "dog"])[np.arange(N) % 2],
        "who": np.array(["u1", "u2", "u3"])[np.arange(N) % 3],
        "part": np.array(["train", "test"])[(np.arange(N) % 4 == 3).astype(int)],
    }


def write(folder: Path) -> dict[str, dict[str, Any]]:
    """Write every kind of file that can be written; return how each data set names its own."""
    columns = table()
    names = {"label": "kind", "client": "who", "test": "part"}
    lines = [",".join(columns)]
    lines += [",".join(str(cell) for cell in row) for row in zip(*columns.values(), strict=True)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    x = np.column_stack([columns["a"], columns["b"]])
    arrays = {"x": x, "y": columns["kind"], "who": columns["who"], "part": columns["part"]}
    np.savez(folder / "data.npz", **arrays)
    module = f"own_samples_{next(COUNT)}.py"  # of each name Python imports but one
    (folder / module).write_text(MODULE)
    options: dict[str, dict[str, Any]] = {
        "csv": {"file": str(folder / "data.csv"), **names},
        "npz": {"file": str(folder / "data.npz"), "client": "who", "test": "part"},
        "image_folder": {
            "path": str(pictures(folder / "images")),
            "size": 4,
            "client": r"/(\w+)_\d+",
        },
        "torch": {
            "dataset": f"{folder / module}:Twos",
            "arguments": {"n": 12},
            "client": "owners",
        },
    }
    if PARQUET:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), folder / "data.parquet")
        options["parquet"] = {"file": str(folder / "data.parquet"), **names}
    if HUB:
        import datasets as hub

        hub.disable_progress_bars()
        hub.Dataset.from_dict(columns).save_to_disk(str(folder / "hub"))
        options["hugging_face"] = {"path": str(folder / "hub"), **names}
    return options


def parse(options: dict[str, dict[str, Any]], name: str, **changes: Any) -> Any:
    """Return the data set of a name, with the options that `write` returned and changes."""
    return datasets.parse({"name": name, **options[name], **changes})


def scenario(dataset: Any) -> Any:
    """Return a tiny scenario that learns from a data set."""
    return Scenario.from_dict({**TINY, "data": {"dataset": dataset}})


def pictures(folder: Path) -> Path:
    """Write a grey picture per class and client, and a broken name."""
    from PIL import Image

    for number in range(12):
        place = (
            folder / ("cat", "dog")[number % 2] / f"{'ann' if number < 6 else 'bob'}_{number}.png"
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (6, 6), 20 * number).save(place)
    return folder
