"""Data of the user's own that can't be learned from, and how that is told."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.components.datasets.base import datasets
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from tests.components.datasets import own_files
from tests.components.datasets.own_files import scenario

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no file": ("csv", {"file": "dat.csv"}, r"dat\.csv: No such file"),
    "no label": ("csv", {"label": "kid"}, r"data\.csv has no column 'kid'; did you mean 'kind'"),
    "no owner": ("csv", {"client": "whom"}, r"no column 'whom'; did you mean 'who'"),
    "no feature": ("csv", {"features": ["c"]}, r"no column 'c'; expected one of: a, b, kind"),
    "text": (
        "csv",
        {"client": None},
        r"data\.csv: column 'who' holds 'u1' in row 1 of 24, which is no",
    ),
    "no labels": ("csv", {"label": []}, "label: expected at least 1 of them"),
    "empty labels": ("csv", {"label": "c", "file": "gaps.csv"}, "column 'c' has 1 empty cell"),
    "counts as labels": (
        "csv",
        {"label": "b", "learn": "labels", "features": ["a"]},
        "labels are 0 or 1, ",
    ),
    "labels as a class": ("npz", {"label": "x"}, "has 2 numbers, but a class is one; .*`learn: la"),
    "text to learn": ("csv", {"learn": "numbers"}, "labels are text, such as 'cat'"),
    "no table": ("csv", {"file": "data.npz"}, r"can't read .*data\.npz"),
    "no array": ("npz", {"label": "Y"}, r"data\.npz has no array 'Y'"),
    "no archive": ("npz", {"file": "data.csv"}, r"can't read .*data\.csv: it is not an archi"),
    "no owners": ("npz", {"client": "x"}, r"array for `client` has shape \(24, 2\)"),
    "half a test set": ("npz", {"test_inputs": "x"}, "`test_label` go together: one of them is"),
    "no pictures": ("image_folder", {"path": "."}, "."),
    "no group": ("image_folder", {"client": "ann"}, "needs a group in parentheses"),
    "no expression": ("image_folder", {"client": "("}, "is no regular expression"),
    "nobody's": ("image_folder", {"client": r"(eve)_\d"}, "does not fit 'cat/ann_0.png'"),
    "no module": ("torch", {"dataset": "mine.py:train"}, "can't be imported"),
    "no attribute": ("torch", {"client": "owner"}, "no attribute 'owner'; did you mean 'owners'"),
    "ragged": ("torch", {"dataset": "Ragged"}, r"sample 1 has an input of shape \(1,\), sample"),
    "no data set": (
        "torch",
        {"dataset": "nothing", "arguments": {}},
        "is a int, no",
    ),
    "argument": ("torch", {"arguments": {"m": 3}}, "unexpected keyword argument 'm'"),
}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [f"{row}.5" for row in range(30)],
            "30 of 30 samples have .* such as 0.5: .*learn: numbers",
        ),
        ([f"name {row}" for row in range(30)], "such as 'name 0': these are no classes"),
        (
            ["ill"] * 30,
            "all samples are of the class 'ill', so that there is nothing to tell apart",
        ),
        (["1"] * 5, "all samples are of the class 1, "),
    ],
)
def test_what_are_no_classes(labels: list[str], message: str, tmp_path: Path) -> None:
    """Numbers to predict without `learn: numbers`, above all: they trained, at an accuracy of 0."""
    cells = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
    (tmp_path / "t.csv").write_text(f"a,y\n{cells}")
    with pytest.raises(InputError, match=message):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv"), "label": "y"})


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, options, tmp_path):
    name, changes, message = REFUSED[case]
    if changes.get("dataset") in ("Ragged", "nothing"):
        changes = {
            **changes,
            "dataset": options["torch"]["dataset"].replace("Twos", changes["dataset"]),
        }
    (tmp_path / "gaps.csv").write_text("a,b,c,who,part\n1,2,0,x,train\n2,3,,y,test\n")
    if case == "no pictures":
        (tmp_path / "empty").mkdir()
        changes, message = {"path": "empty"}, "has no pictures"
    with pytest.raises(InputError, match=message):
        scenario({"name": name, **options[name], **changes})


def test_parts_of_a_data_set_are_no_classes(tmp_path):
    """Models learned to tell training pictures from those for validation."""
    for part in ("train", "val"):
        own_files.pictures(tmp_path / part)
    with pytest.raises(InputError, match=r"has folders train, val: .* are called `train` and `te"):
        scenario({"name": "image_folder", "path": str(tmp_path), "size": 4})
    shutil.rmtree(tmp_path / "val")
    with pytest.raises(InputError, match=r"has folders train: .* both must be there"):
        scenario({"name": "image_folder", "path": str(tmp_path), "size": 4})


def test_names_of_clients_that_are_one_number_are_not_taken_for_one(tmp_path):
    """`01` and `1` were one client, and nothing was said."""
    rows = "".join(f"{row % 2},{row},{who}\n" for row, who in enumerate(["01", "2", " 2", "1"] * 5))
    (tmp_path / "t.csv").write_text(f"label,a, who\n{rows}")
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "client": "who"}
    with pytest.raises(InputError, match="'who' has '01' and '1', which are one number; write one"):
        scenario(named)
    (tmp_path / "t.csv").write_text(f"label,a, who\n{rows.replace('01', '03')}")
    assert len(scenario(named).data.dataset.load(None, Seeds(0)).natural) == 3


def test_arrays_of_objects_are_told_what_to_do_with(tmp_path: Path) -> None:
    """Ragged clients, and pandas' texts, were answered with NumPy's `allow_pickle=False`."""
    ragged = np.array([np.ones((2, 1)), np.ones((3, 1))], dtype=object)
    who = np.array(["anna", "ben", "ben"], dtype=object)
    np.savez(tmp_path / "t.npz", x=ragged, y=np.arange(3), z=np.ones((3, 1)), who=who)
    named = {"name": "npz", "file": str(tmp_path / "t.npz")}
    for options, array in (({}, "x"), ({"inputs": "z", "client": "who"}, "who")):
        with pytest.raises(InputError, match=f"'{array}' holds Python objects.*astype.str"):
            scenario({**named, **options})


def test_inputs_without_numbers_are_told_with_their_place(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.ones((6, 0)), y=np.arange(6) % 2)
    with pytest.raises(
        InputError, match=r"data\.dataset: .*t\.npz: an input has no numbers to lea"
    ):
        scenario({"name": "npz", "file": str(tmp_path / "t.npz")})


@pytest.mark.parametrize(
    ("name", "odd", "message"),
    [
        ("x", np.nan, "inputs are not finite.* in sample 4 of 6, counted from 0$"),
        ("x", -1e39, "inputs are not finite, or too large, .* in sample 4 of 6"),
        ("y", np.inf, "labels are empty or not finite, .* in sample 4 of 6, counted from 0$"),
        ("z", np.inf, ".* in sample 10 of 12, counted from 0, those for training first"),
    ],
)
def test_what_is_not_finite_is_told_with_its_place(name, odd, message, tmp_path):
    """It was 'training samples hold NaN or infinity', of an archive with how many soever."""
    arrays: dict[str, Any] = {"x": np.zeros((6, 2)), "y": np.arange(6) % 2.0, "z": np.zeros((6, 2))}
    arrays[name][4] = odd
    np.savez(tmp_path / "t.npz", **arrays)
    tested = {"test_inputs": "z", "test_label": "y"} if name == "z" else {}
    with pytest.raises(InputError, match=rf"data\.dataset: .*t\.npz: {message}"):
        scenario({"name": "npz", "file": str(tmp_path / "t.npz"), **tested})
    if odd == -1e39:  # a time, say, that becomes a small number
        scenario({"name": "npz", "file": str(tmp_path / "t.npz"), "normalise": "standard"})


def test_infinity_is_not_finite_in_half_precision_either(tmp_path: Path) -> None:
    """It was taken, for in float16 the largest float32 is infinite as well."""
    x = np.zeros((6, 2), np.float16)
    np.savez(tmp_path / "sound.npz", x=x, y=np.arange(6) % 2)
    scenario({"name": "npz", "file": str(tmp_path / "sound.npz")})
    x[4] = np.inf
    np.savez(tmp_path / "t.npz", x=x, y=np.arange(6) % 2)
    with pytest.raises(InputError, match=r"t\.npz: inputs are not finite.* in sample 4 of 6"):
        scenario({"name": "npz", "file": str(tmp_path / "t.npz")})


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """It was read for ever: nobody writes into it."""
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"can't read .*t\.csv: it is a pipe, expected a file"):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv")})


def test_nobody_owns_what_is_nobodys(tmp_path):
    (tmp_path / "t.csv").write_text("label,a,who\n0,1,0\n1,2,\n0,3,1\n")
    with pytest.raises(InputError, match=r"column 'who' has 1 empty cell, .* row 2 of 3"):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv"), "client": "who"})
    named = {"name": "npz", "file": str(tmp_path / "t.npz"), "client": "who"}
    np.savez(tmp_path / "t.npz", x=np.ones((3, 1)), y=np.arange(3), who=[0.0, np.nan, 1.0])
    with pytest.raises(InputError, match="array 'who' has 1 empty cell"):
        scenario(named)


def test_a_column_that_says_of_nothing_that_it_is_for_testing(tmp_path):
    (tmp_path / "t.csv").write_text("label,a,part\n0,1,train\n1,2,val\n0,3,w\n1,4,x\n")
    with pytest.raises(
        InputError, match=r"no cell of column 'part' says .* it holds 'train', 'val', 'w', \.\.\.$"
    ):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv"), "test": "part"})
    (tmp_path / "u.csv").write_text("label,a,part\ncat,1, T\n cat,2, F\ndog,3,F\n")
    parsed = datasets.parse({"name": "csv", "file": str(tmp_path / "u.csv"), "test": "part"})
    corpus = parsed.load(None, Seeds(0))
    assert (len(corpus.test), len(corpus.train), corpus.classes) == (1, 2, 2)


def test_empty_cells_are_told(tmp_path):
    (tmp_path / "holes.csv").write_text("label,a\n0,1\n1,\n")
    named = {"name": "csv", "file": str(tmp_path / "holes.csv")}
    with pytest.raises(InputError, match=r"holes\.csv: column 'a' has cells that are empty"):
        scenario(named)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["1,2,yes,", "3,4,no,"],
            r"t\.csv:2: expected a cell for each of the header's 3 columns, got 4",
        ),
        (
            ["1,2,yes", "3,4,no,5"],
            r"t\.csv:3: expected a cell for each of the header's 3 columns, got 4",
        ),
        (
            ['"1",2,yes', "  ", "3,4"],
            r"t\.csv:4: expected a cell for each of the header's 3 columns, got 2",
        ),
        (
            ["1,2,yes", "4,no", "3,4,no"],
            r"t\.csv:3: expected a cell for each of the header's 3 columns, got 2",
        ),
        (["1,2,yes", "3,4,"], "column 'ill' has 1 empty cell, the first of them in row 2 of 2"),
        (
            ["1,2,yes", "3,1e39,no"],
            "'b' has cells that are empty, not finite or too large, the first .* in row 2 of 2",
        ),
        (["1,2,yes", "3,NA,no"], "column 'b' holds 'NA' in row 2 of 2, which is no number"),
        (["1,2,yes", "3,nan,no"], "column 'b' holds 'nan' in row 2 of 2, which is no number"),
        (["1,2,yes", "3,1_0,no"], "column 'b' holds '1_0' in row 2 of 2, which is no number"),
        (["1,2,yes", "3,\u0663,no"], "column 'b' holds '\u0663' in row 2 of 2, which is no number"),
        (["1,2,yes", f"3,{'x' * 300},no"], r"column 'b' holds '[x.]{28}' in row 2 of 2, which"),
        (["", "1,2,yes,", "3,4,no,"], r"t\.csv:3: expected a cell for each of the header's 3"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_rows_that_do_not_fit_the_header_and_what_is_missing(rows, message, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(["a,b,ill", *rows]), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv"), "label": "ill"})


@pytest.mark.parametrize("name", ["x", "y", "who"])
def test_a_single_value_is_no_array_of_samples(name, tmp_path):
    arrays: dict[str, Any] = {"x": np.ones((4, 1)), "y": np.arange(4) % 2, "who": np.arange(4)}
    arrays[name] = np.array(3)
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InputError, match=f"array '{name}' is a single value, expected one a samp"):
        scenario({"name": "npz", "file": str(tmp_path / "t.npz"), "client": "who"})


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a,a,ill", "more than one column is called 'a'"),
        ("a,ill, ill", "more than one column is called 'ill'"),
        (",a,ill", "column 1 has no name, as the row numbers that pandas writes; name the columns"),
    ],
)
def test_columns_that_are_not_told_apart(header, message, tmp_path):
    (tmp_path / "t.csv").write_text(f"{header}\n1,2,0\n3,4,1\n")
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "label": "ill"}
    with pytest.raises(InputError, match=message):
        scenario(named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["a", "ill"]}, "`features` names 'ill', which is the label, the client or"),
        ({"features": ["a", "b"], "client": "b"}, "`features` names 'b', which is the label"),
        ({"features": ["a", "a"]}, "`features` names column 'a' twice"),
        ({"label": ["ill", "ill"], "learn": "numbers"}, "`label` names column 'ill' twice"),
    ],
)
def test_a_model_does_not_see_what_it_is_to_say(options, message, tmp_path):
    """Its accuracy was 100%."""
    (tmp_path / "t.csv").write_text("a,b,ill\n1,2,0\n3,4,1\n")
    with pytest.raises(InputError, match=message):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv"), "label": "ill", **options})


@pytest.mark.skipif(not own_files.HUB, reason="needs datasets")
def test_what_is_not_in_the_cache_is_not_asked_for(tmp_path, monkeypatch):
    """It was, where the program had imported Hugging Face's package before."""
    import datasets as hub

    monkeypatch.setattr("socket.getaddrinfo", lambda *_: pytest.fail("it asked the network"))
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it asked the network"))
    before = hub.config.HF_HUB_OFFLINE
    with pytest.raises(InputError, match=r"neither a folder .* nor in the cache of Hugging Face"):
        scenario({"name": "hugging_face", "path": "nobody/nothing", "label": "x"})
    assert hub.config.HF_HUB_OFFLINE is before


@pytest.mark.skipif(not own_files.HUB, reason="needs datasets")
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (None, "column 'picture' has 1 empty cell, the first of them in row 3 of 3"),
        ({"bytes": b"none", "path": None}, "column 'picture' can't be decoded: "),
    ],
)
def test_a_column_of_pictures_of_which_one_is_none(cell, message, tmp_path):
    """It was a raw error of Pillow's, or of None."""
    import datasets as hub
    from PIL import Image

    hub.disable_progress_bars()
    grey = [Image.new("L", (6, 6), value) for value in (1, 2)]
    columns = {"picture": [*grey, cell], "a": [1.0, 2.0, 3.0], "x": [0, 1, 0]}
    types = hub.Features(picture=hub.Image(), a=hub.Value("float32"), x=hub.Value("int64"))
    hub.Dataset.from_dict(columns, features=types).save_to_disk(str(tmp_path))
    named = {"name": "hugging_face", "path": str(tmp_path), "label": "x"}
    with pytest.raises(InputError, match=message):
        scenario({**named, "features": ["picture"]})
    scenario({**named, "features": ["a"]})


@pytest.mark.skipif(not own_files.HUB, reason="needs datasets")
def test_a_folder_that_is_no_data_set_is_a_folder_all_the_same(tmp_path):
    with pytest.raises(InputError, match=f"'{tmp_path}' can't be read: "):
        scenario({"name": "hugging_face", "path": str(tmp_path), "label": "x"})


class _Hub:
    """Stands for Hugging Face's package."""

    @staticmethod
    def load_from_disk(_: str) -> dict[str, list[object]]:
        return {"train": [{"a": 1.0, "x": 0}], "test": []}


def test_a_split_without_rows_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("simfl.components.datasets.hugging_face.extra", lambda *_: _Hub)
    named = {"name": "hugging_face", "path": str(tmp_path), "label": "x", "split": "test"}
    with pytest.raises(InputError, match="has no row in its split 'test'"):
        scenario(named)


@pytest.mark.skipif(own_files.PARQUET, reason="pyarrow is installed")
def test_without_pyarrow_it_is_said_how_to_get_it(tmp_path):
    (tmp_path / "x.parquet").touch()
    with pytest.raises(InputError, match=re.escape("pip install 'simfl[parquet]'")):
        scenario({"name": "parquet", "file": str(tmp_path / "x.parquet")})
