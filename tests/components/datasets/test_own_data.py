"""Data sets of the user's own: what is read, whose it is, what is tested on, what is refused."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simfl import Scenario, run
from simfl.components.datasets.base import datasets
from simfl.core.seeds import Seeds
from simfl.errors import InputError, ScenarioError
from simfl.scenario.checks import refuse
from tests.components.datasets import own_files
from tests.tiny import TINY

FORMATS = (
    "csv",
    "npz",
    "torch",
    "image_folder",
    pytest.param(
        "parquet", marks=pytest.mark.skipif(not own_files.PARQUET, reason="needs pyarrow")
    ),
    pytest.param(
        "hugging_face", marks=pytest.mark.skipif(not own_files.HUB, reason="needs datasets")
    ),
)
TABLES = [name for name in FORMATS if name not in ("npz", "torch", "image_folder")]


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return own_files.write(tmp_path)


def parse(options, name, **changes):
    return datasets.parse({"name": name, **options[name], **changes})


def scenario(dataset):
    return Scenario.from_dict({**TINY, "data": {"dataset": dataset}})


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_learned_from(options, name):
    columns = own_files.table()
    corpus = parse(options, name).load(None, Seeds(0))
    train = columns["part"] == "train"
    expected = np.column_stack([columns["a"], columns["b"]]).astype(np.float32)
    np.testing.assert_array_equal(corpus.train.x, expected[train])
    np.testing.assert_array_equal(corpus.test.x, expected[~train])
    assert corpus.train.y.tolist() == (columns["kind"][train] == "dog").astype(int).tolist()
    assert [columns["who"][train][rows].tolist() for rows in corpus.natural] == [
        [who] * len(rows) for who, rows in zip(["u1", "u2", "u3"], corpus.natural, strict=True)
    ]
    assert sum(map(len, corpus.natural)) == train.sum()


@pytest.mark.parametrize("name", TABLES)
def test_columns_that_are_chosen(options, name):
    corpus = parse(options, name, features=["b"], client=None, test=None).load(None, Seeds(0))
    assert corpus.natural is None
    assert corpus.train.x.shape == (19, 1)  # four fifths of 24
    rest = parse(options, name, label="b", learn="numbers", features=["a"]).load(None, Seeds(0))
    assert rest.train.y[:3].ravel().tolist() == [0.0, 1.0, 2.0]
    assert rest.train.y.dtype == np.float32


@pytest.mark.parametrize("name", FORMATS)
def test_the_test_part_is_drawn_from_its_own_stream(options, name):
    changes: dict[str, Any] = {"test": None} if "test" in options[name] else {}
    changes |= {"features": ["a", "b"]} if "label" in options[name] else {}
    data = parse(options, name, test_share=0.5, **changes)
    one, again, other = (data.load(None, Seeds(seed)) for seed in (1, 1, 2))
    assert one.test.x.tobytes() == again.test.x.tobytes()
    assert one.test.x.tobytes() != other.test.x.tobytes()
    n = len(one.train) + len(one.test)
    assert len(one.test) == n // 2
    assert data.samples_known == len(one.train)
    assert data.natural_known is None  # it depends on who is drawn


@pytest.mark.parametrize(
    "name", [name for name in FORMATS if name not in ("torch", "image_folder")]
)
def test_what_is_known_before_it_is_loaded(options, name):
    data = parse(options, name)
    corpus = data.load(None, Seeds(0))
    assert data.samples_known == len(corpus.train) == 18
    assert data.natural_known == len(corpus.natural) == 3
    assert data.shape() == ((2,), 2)


def test_standardised_inputs(options):
    corpus = parse(options, "csv", normalise="standard").load(None, Seeds(0))
    np.testing.assert_allclose(corpus.train.x.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(corpus.train.x.std(0), 1, atol=1e-6)


def test_shapes_of_images_in_tables(options, tmp_path):
    (tmp_path / "tiny.csv").write_text("label,p0,p1,p2,p3\n0,1,2,3,4\n1,5,6,7,8\n")
    named = {"name": "csv", "file": "tiny.csv", "input_shape": [1, 2, 2], "test_share": 0}
    corpus = datasets.parse(named).load(None, Seeds(0))
    assert corpus.train.x[1].tolist() == [[[5, 6], [7, 8]]]
    with pytest.raises(InputError, match=r"4 numbers in a sample.*input_shape"):
        scenario({**named, "input_shape": [3, 2]})


def test_arrays_for_testing(options, tmp_path):
    x = np.arange(12.0).reshape(6, 2)
    arrays: dict[str, Any] = {
        "x_train": x,
        "y_train": [0, 1] * 3,
        "x_test": x[:2],
        "y_test": [1, 0],
        "who": x[:, 0],
    }
    np.savez(tmp_path / "split.npz", **arrays)
    named = {"name": "npz", "file": "split.npz", "inputs": "x_train", "label": "y_train"}
    data = datasets.parse(
        {**named, "test_inputs": "x_test", "test_label": "y_test", "client": "who"}
    )
    corpus = data.load(None, Seeds(0))
    assert (corpus.train.x.tolist(), corpus.test.x.tolist()) == (x.tolist(), x[:2].tolist())
    assert corpus.test.y.tolist() == [1, 0]
    assert corpus.natural is not None
    assert data.natural_known == len(corpus.natural) == 6


@pytest.mark.parametrize("how", ["columns", "array"])
def test_several_labels_each_yes_or_no(how, tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)).round(3), rng.integers(0, 2, (40, 3))
    np.savez(tmp_path / "many.npz", x=x, y=y.astype(bool))
    rows = [",".join(map(str, [*a, *b])) for a, b in zip(x, y, strict=True)]
    (tmp_path / "many.csv").write_text("\n".join(["a,b,red,round,soft", *rows]))
    named: dict[str, Any] = {"name": "npz", "file": str(tmp_path / "many.npz")}
    if how == "columns":
        file = str(tmp_path / "many.csv")
        named = {"name": "csv", "file": file, "label": ["red", "round", "soft"]}
    dataset = datasets.parse({**named, "learn": "labels", "test_share": 0})
    corpus = dataset.load(None, Seeds(0))
    assert (dataset.targets, dataset.shape()) == ("labels", ((2,), 3))
    np.testing.assert_array_equal(corpus.train.y, y.astype(np.float32))
    np.testing.assert_allclose(corpus.train.x, x.astype(np.float32))
    learning = {"loss": "binary_cross_entropy", "steps": 2}
    data = {"dataset": {**named, "learn": "labels"}}
    changes = {"data": data, "training": learning, "evaluation": {"metrics": ["auc"]}}
    [result] = run(Scenario.from_dict({**TINY, **changes}), tmp_path / "runs")
    assert result.rounds.accuracy.between(0, 1).all()
    assert result.rounds.auc.notna().all()


def test_pictures(options):
    corpus = parse(options, "image_folder", test_share=0, mode="grey").load(None, Seeds(0))
    assert corpus.train.x.shape == (12, 1, 4, 4)
    # cats first, by name: 0, 2, 4 are ann's, 10, 6, 8 bob's
    np.testing.assert_allclose(
        corpus.train.x[:6, 0, 0, 0] * 255, [0, 40, 80, 200, 120, 160], atol=0.01
    )
    assert corpus.train.y.tolist() == [0] * 6 + [1] * 6
    assert [rows.tolist() for rows in corpus.natural] == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]


def test_pictures_that_are_split_already(tmp_path):
    for part in ("train", "test"):
        own_files.pictures(tmp_path / "split" / part)
    (tmp_path / "split" / "test" / "dog" / "ann_1.png").unlink()
    named = {"name": "image_folder", "path": str(tmp_path / "split"), "size": 2}
    corpus = datasets.parse(named).load(None, Seeds(0))
    assert (len(corpus.train), len(corpus.test), corpus.train.x.shape[1:]) == (12, 11, (3, 2, 2))


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


def test_times_are_told_apart_where_they_are_standardised(tmp_path):
    """Of 1,600 seconds of the year 2023 six were left."""
    rows = "".join(f"{1_700_000_000 + n},{n % 2}\n" for n in range(600))
    (tmp_path / "t.csv").write_text(f"when,label\n{rows}")
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "normalise": "standard"}
    corpus = datasets.parse(named).load(None, Seeds(0))
    assert len(np.unique(corpus.train.x)) == len(corpus.train)
    assert corpus.train.x.mean() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("value", [0.1, 0.3, 2.7])
def test_an_input_that_never_varies_in_training_is_not_scaled_by_rounding(tmp_path, value):
    """It was 1 or -1 everywhere, and a test sample that differs by a half 10^15."""
    rows = "".join(f"{value},{n},{n % 2},{n < 10}\n" for n in range(100))
    (tmp_path / "c.csv").write_text(f"same,n,label,held\n{rows}{value + 0.5},3,0,1\n")
    named = {"name": "csv", "file": str(tmp_path / "c.csv"), "normalise": "standard"}
    corpus = datasets.parse({**named, "test": "held"}).load(None, Seeds(0))
    assert not corpus.train.x[:, 0].any()
    assert corpus.test.x[-1, 0] == np.float32(0.5)


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
    "empty labels": ("csv", {"label": "c", "file": "gaps.csv"}, "column 'c' has 1 empty cells"),
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
    "ragged": ("torch", {"dataset": "Ragged"}, "must give pairs of an input and a"),
    "no data set": (
        "torch",
        {"dataset": "nothing", "arguments": {}},
        "is a int, no",
    ),
    "argument": ("torch", {"arguments": {"m": 3}}, "unexpected keyword argument 'm'"),
}


def test_tokens(tmp_path: Path) -> None:
    """Texts of one's own: an embedding looks numbers up, and could not be trained on them."""
    x = np.arange(24).reshape(12, 2) % 7
    np.savez(tmp_path / "texts.npz", x=x.astype(np.float64), y=np.arange(12) % 3)
    (tmp_path / "reads.py").write_text(
        "from torch import nn\n\n\ndef net(classes):\n    return nn.Sequential(\n"
        "        nn.Embedding(7, 4), nn.Flatten(), nn.Linear(8, classes)\n    )\n"
    )
    texts = {"name": "npz", "file": str(tmp_path / "texts.npz"), "inputs_are": "tokens"}
    corpus = datasets.parse(texts).load(None, Seeds(0))
    assert corpus.train.x.dtype == np.int64
    assert {tuple(row) for row in corpus.train.x} <= {tuple(row) for row in x}
    tiny = {**TINY, "model": {"name": f"{tmp_path / 'reads.py'}:net"}}
    run(Scenario.from_dict({**tiny, "data": {"dataset": texts}}), out=tmp_path / "runs")
    measured = {**texts, "inputs_are": "measurements"}
    with pytest.raises(InputError, match=r"takes tokens, not measurements.*`inputs_are: tokens`"):
        run(Scenario.from_dict({**tiny, "data": {"dataset": measured}}), out=tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match="takes no tokens"):
        run(scenario(texts), out=tmp_path / "other")
    with pytest.raises(InputError, match=r"below the number of classes, 3, but .* has a token 6"):
        run(Scenario.from_dict({**tiny, "data": {"dataset": texts}, "model": "fedcore_lstm"}))
    with pytest.raises(InputError, match="tokens are numbers of things"):
        scenario({**texts, "normalise": "standard"})
    np.savez(tmp_path / "texts.npz", x=x - 0.5, y=np.arange(12) % 3)
    with pytest.raises(InputError, match=r"tokens are whole numbers from 0, but one is -0\.5"):
        scenario(texts)


def test_checking_refuses_tokens_for_convolutions_as_running_does(tmp_path: Path) -> None:
    x = np.arange(12 * 64).reshape(12, 1, 8, 8) % 7
    np.savez(tmp_path / "texts.npz", x=x, y=np.arange(12) % 3)
    texts = {"name": "npz", "file": str(tmp_path / "texts.npz"), "inputs_are": "tokens"}
    looked = Scenario.from_dict({**TINY, "data": {"dataset": texts}, "model": "cnn"})
    with pytest.raises(InputError, match="model 'cnn' takes no tokens, so it can't be trained"):
        refuse({"default": looked})


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


@pytest.mark.parametrize("labels", [["0.5", "1", "1.5"] * 10, [str(row) for row in range(6)]])
def test_classes_may_be_fractions_and_few_samples_each_of_its_own(
    labels: list[str], tmp_path: Path
) -> None:
    cells = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
    (tmp_path / "t.csv").write_text(f"a,y\n{cells}")
    _, classes = scenario(
        {"name": "csv", "file": str(tmp_path / "t.csv"), "label": "y"}
    ).inputs_and_outputs()
    assert classes == len(set(labels))


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


def test_owners_in_a_long_table_are_the_same_from_end_to_end(tmp_path):
    """Read part by part, `1` would be a number where there is no text, and another client."""
    n = 300_000  # more rows than one part has
    owners = ["ann", *["1"] * (n - 2), "eve"]
    lines = ["label,a,who", *(f"{row % 2},{row},{who}" for row, who in enumerate(owners))]
    (tmp_path / "long.csv").write_text("\n".join(lines))
    made = scenario({"name": "csv", "file": str(tmp_path / "long.csv"), "client": "who"})
    natural = made.data.dataset.load(None, Seeds(0)).natural
    assert len(natural) == 3


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


def test_nobody_owns_what_is_nobodys(tmp_path):
    (tmp_path / "t.csv").write_text("label,a,who\n0,1,0\n1,2,\n0,3,1\n")
    with pytest.raises(InputError, match=r"column 'who' has 1 empty cells, .* row 2 of 3"):
        scenario({"name": "csv", "file": str(tmp_path / "t.csv"), "client": "who"})
    named = {"name": "npz", "file": str(tmp_path / "t.npz"), "client": "who"}
    np.savez(tmp_path / "t.npz", x=np.ones((3, 1)), y=np.arange(3), who=[0.0, np.nan, 1.0])
    with pytest.raises(InputError, match="array 'who' has 1 empty cells"):
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


def test_a_folder_that_has_changed_is_looked_at_again(tmp_path):
    from PIL import Image

    def put(name):
        (tmp_path / "train" / name).mkdir(parents=True)
        (tmp_path / "test" / name).mkdir(parents=True)
        for part in ("train", "test"):
            Image.new("L", (4, 4)).save(tmp_path / part / name / "1.png")

    put("cat")
    put("dog")
    parsed = datasets.parse({"name": "image_folder", "path": str(tmp_path), "size": 4})
    assert parsed.shape()[1] == 2
    put("eel")
    assert parsed.load(None, Seeds(0)).classes == 3
    assert parsed.shape()[1] == 3


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
        (["1,2,yes", "3,4,"], "column 'ill' has 1 empty cells, the first of them in row 2 of 2"),
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


def test_a_column_without_a_name_that_nobody_learns_from(tmp_path):
    (tmp_path / "t.csv").write_text(",a,ill\n1,2,0\n3,4,1\n")
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "label": "ill", "features": ["a"]}
    assert scenario(named).data.dataset.shape() == ((1,), 2)


def test_text_that_says_na_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,ill,who\n1,NA,null\n2,no,None\n3,NA,null\n")
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "label": "ill", "client": "who"}
    made = scenario({**named, "test_share": 0})
    corpus = made.data.dataset.load(None, Seeds(0))
    assert made.data.dataset.shape() == ((1,), 2)
    assert [len(samples) for samples in corpus.natural] == [1, 2]


@pytest.mark.skipif(not own_files.HUB, reason="needs datasets")
def test_what_is_not_in_the_cache_is_not_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it asked the network"))
    with pytest.raises(InputError, match=r"neither a folder .* nor in the cache of Hugging Face"):
        scenario({"name": "hugging_face", "path": "nobody/nothing", "label": "x"})


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


def test_a_scenario_with_its_own_table(options, tmp_path: Path):
    """Files lie beside the scenario; each device is one of those whom the table names."""
    (tmp_path / "mine.yaml").write_text(
        "{data: {dataset: {name: csv, file: data.csv, label: kind, client: who, test: part}}, "
        "model: logistic_regression, fleet: {count: 3}, rounds: {clients: 2, stop: {rounds: 2}}}"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    [result] = run(Scenario.load(tmp_path / "mine.yaml"), elsewhere / "runs")
    assert result.scenario["data"]["partition"]["name"] == "natural"
    assert Scenario.load(result.folder / "scenario.yaml").data.dataset.samples_known == 18
