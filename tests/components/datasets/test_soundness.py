"""Data sets that nothing can be learned from are refused before anything is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from simfl.build.data import Unfit, federate
from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples
from simfl.components.datasets.soundness import require_sound
from simfl.components.partitions.base import partitions
from simfl.core.returned import Unexpected
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from tests.tiny import RunTiny

MODULE = """\
from typing import Literal
import numpy as np
from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples


class Mine(Dataset):
    odd: str = ""

    def shape(self):
        return (3,), 2

    def load(self, folder, seeds):
        x, y = np.ones((80, 3), np.float32), np.arange(80) % 2
        tx, ty = x[:10], y[:10]
        if self.odd == "nan":
            x[7, 1] = np.nan
        if self.odd == "infinite test":
            tx = tx + np.inf
        if self.odd == "no test":
            tx, ty = tx[:0], ty[:0]
        if self.odd == "nothing":
            x, y = x[:0], y[:0]
        if self.odd == "label":
            y = y + 1
        if self.odd == "short":
            y = y[:-1]
        if self.odd == "shape":
            x = x[:, :2]
        if self.odd == "float labels":
            y = y.astype(float)
        if self.odd == "column":
            ty = ty[:, None]
        if self.odd == "list":
            x = x.tolist()
        if self.odd == "raises":
            raise KeyError("no such column")
        if self.odd == "pair":
            return Corpus((x, y), Samples(tx, ty), 2)
        if self.odd == "no test set":
            return Corpus(Samples(x, y), None, 2)
        if self.odd == "classes":
            return Corpus(Samples(x, y), Samples(tx, ty), 1)
        if self.odd == "owners":
            return Corpus(Samples(x, y), Samples(tx, ty), 2, natural=np.arange(80) % 20)
        return Corpus(Samples(x, y), Samples(tx, ty), 2)
"""

CASES = {
    "nan": "training samples hold NaN or infinity",
    "infinite test": "test samples hold NaN or infinity",
    "no test": "leaves no test samples to evaluate",
    "nothing": "has no training samples",
    "label": "have a label 2, but labels are 0 to 1",
    "short": "has 80 training samples, but 79 labels",
    "shape": r"inputs have shape \(3,\), but its training samples have \(2,\)",
    "float labels": r"training samples' labels, `\(n,\)` whole numbers, got float64",
    "column": r"test samples' labels, `\(n,\)` whole numbers, got int64 of shape \(10, 1\)",
    "list": "training samples' inputs, an array of numbers, got list",
    "raises": r"being loaded: KeyError: 'no such column' \(.*user_dataset.py:37\)",
    "pair": r"training samples, as `Samples\(x, y\)`, got tuple",
    "no test set": r"test samples, as `Samples\(x, y\)`, got NoneType",
    "classes": "says that it has 2 classes, but its Corpus 1",
    "owners": r"the rows of each client of its own, an array each, got \[ 0 1 2",
}


@pytest.fixture(autouse=True)
def module(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "user_dataset.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)


def changes(odd: str) -> dict[str, object]:
    return {"data.dataset": {"name": "user_dataset:Mine", "odd": odd}}


class Numbers(Dataset):
    """Numbers to learn, `told` of each sample."""

    name = "numbers"
    targets = "numbers"
    told: Any = 2

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return self.told

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("told", "held", "width", "message"),
    [
        (((3,), 2), 1, 2, "says that it has 2 numbers of each sample, but its Corpus 1"),
        (((3,), 3), 3, 2, r"3 numbers of each .* training samples' targets have shape \(80, 2\)"),
        (3, 2, 2, "the number of numbers of each sample, such as"),
    ],
)
def test_of_what_has_no_classes_none_are_told(
    told: object, held: int, width: int, message: str
) -> None:
    """Targets of another width ended in an internal error of some shape."""
    samples = Samples(np.ones((80, 3), np.float32), np.ones((80, width), np.float32))
    with pytest.raises((InputError, Unexpected), match=message):
        require_sound(Numbers(told=told), Corpus(samples, samples, held))


def test_sound_data_are_learned_from(run_tiny: RunTiny) -> None:
    assert run_tiny(changes("")).summary["rounds"] == 4


@pytest.mark.parametrize(("odd", "message"), CASES.items())
def test_unsound_data_are_refused(
    odd: str, message: str, run_tiny: RunTiny, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"data.dataset: data ?set 'user_dataset:Mine'.*{message}"):
        run_tiny(changes(odd))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"name": "synthetic_images", "samples": 100, "test_samples": 20, "size": 4, "noise": 1e39},
        {"name": "synthetic", "alpha": 1, "beta": 1e300},
        {"name": "synthetic_regression", "noise": 1e300},
    ],
    ids=lambda options: options["name"],
)
def test_numbers_beyond_float32_are_told_of_once(options: dict[str, object]) -> None:
    """NumPy's warnings, which name simfl's own lines, are errors in these tests."""
    dataset, iid = datasets.parse(options), partitions.parse("iid")
    with pytest.raises(Unfit, match="training samples hold NaN or infinity"):
        federate(dataset, iid, 4, 0.0, 0.1, None, Seeds(0))
