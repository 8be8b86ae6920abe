"""Data sets of the user's own: what is read of each kind, whose it is, what is tested on."""

import os
import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Scenario, run
from simfl.components.datasets.base import datasets
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.scenario.checks import refuse
from tests.components.datasets import own_files
from tests.components.datasets.own_files import parse, scenario
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


@pytest.mark.skipif(not own_files.PARQUET, reason="needs pyarrow")
def test_decimals_are_numbers(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    prices = [Decimal("0.25"), Decimal("1.50"), Decimal("2.75"), Decimal("10.00")]
    pq.write_table(pa.table({"price": prices, "label": [0, 1, 0, 1]}), tmp_path / "x.parquet")
    named = {"name": "parquet", "file": str(tmp_path / "x.parquet"), "test_share": 0}
    corpus = datasets.parse(named).load(None, Seeds(0))
    assert corpus.train.x.ravel().tolist() == [0.25, 1.5, 2.75, 10]


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
    assert data.seeded
    assert not parse(options, name, test_share=0).seeded


@pytest.mark.parametrize(
    "name", [name for name in FORMATS if name not in ("torch", "image_folder")]
)
def test_what_is_known_before_it_is_loaded(options, name):
    data = parse(options, name)
    corpus = data.load(None, Seeds(0))
    assert data.samples_known == len(corpus.train) == 18
    assert data.natural_known == len(corpus.natural) == 3
    assert data.shape() == ((2,), 2)


def test_standardised_inputs_have_mean_zero_and_deviation_one(options):
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


def test_pictures_are_read_class_by_class_with_their_owners(options):
    corpus = parse(options, "image_folder", test_share=0, mode="grey").load(None, Seeds(0))
    assert corpus.train.x.shape == (12, 1, 4, 4)
    # cats first, by name: 0, 2, 4 are ann's, 10, 6, 8 bob's
    np.testing.assert_allclose(
        corpus.train.x[:6, 0, 0, 0] * 255, [0, 40, 80, 200, 120, 160], atol=0.01
    )
    assert corpus.train.y.tolist() == [0] * 6 + [1] * 6
    assert [rows.tolist() for rows in corpus.natural] == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]


def test_hidden_pictures_are_left_out(tmp_path):
    """A notebook's `.ipynb_checkpoints` was a class, and a Mac's `._cat.png` no picture."""
    own_files.pictures(tmp_path)
    own_files.pictures(tmp_path / ".ipynb_checkpoints")
    (tmp_path / "cat" / "._ann_0.png").write_bytes(b"Mac OS X")
    named = {"name": "image_folder", "path": str(tmp_path), "size": 4}
    corpus = datasets.parse(named).load(None, Seeds(0))
    assert (corpus.classes, len(corpus.train) + len(corpus.test)) == (2, 12)


def test_pictures_that_are_split_already(tmp_path):
    for part in ("train", "test"):
        own_files.pictures(tmp_path / "split" / part)
    (tmp_path / "split" / "test" / "dog" / "ann_1.png").unlink()
    named = {"name": "image_folder", "path": str(tmp_path / "split"), "size": 2}
    corpus = datasets.parse(named).load(None, Seeds(0))
    assert (len(corpus.train), len(corpus.test), corpus.train.x.shape[1:]) == (12, 11, (3, 2, 2))


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


def test_tokens_stay_whole_and_go_with_models_that_take_them(tmp_path: Path) -> None:
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


def test_owners_in_a_long_table_are_the_same_from_end_to_end(tmp_path):
    """Read part by part, `1` would be a number where there is no text, and another client."""
    n = 300_000  # more rows than one part has
    owners = ["ann", *["1"] * (n - 2), "eve"]
    lines = ["label,a,who", *(f"{row % 2},{row},{who}" for row, who in enumerate(owners))]
    (tmp_path / "long.csv").write_text("\n".join(lines))
    made = scenario({"name": "csv", "file": str(tmp_path / "long.csv"), "client": "who"})
    natural = made.data.dataset.load(None, Seeds(0)).natural
    assert len(natural) == 3


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
    assert parsed.samples_known == 3
    Image.new("L", (4, 4)).save(tmp_path / "train" / "cat" / "2.png")
    os.utime(tmp_path / "train" / "cat", (0, 0))  # as at another time, by whatever clock
    assert parsed.samples_known == 4


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


@pytest.mark.parametrize(
    ("names", "sizes"), [(["2", "10", "9"], [1, 3, 2]), (["s2", "s10", "s9"], [2, 1, 3])]
)
def test_clients_are_in_the_order_of_their_names_and_numbers_by_size(tmp_path, names, sizes):
    """As `simfl describe natural` says; who is only tested is none of them."""
    trained = [f"1,{row % 2},{who},0" for n, who in enumerate(names) for row in range(n + 1)]
    tested = ["1,0,1,1"]
    (tmp_path / "t.csv").write_text("\n".join(["a,ill,who,held", *trained, *tested]))
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "label": "ill"}
    made = scenario({**named, "client": "who", "test": "held"})
    corpus = made.data.dataset.load(None, Seeds(0))
    assert [len(rows) for rows in corpus.natural] == sizes
    assert corpus.natural_names.tolist() == [names[size - 1] for size in sizes]


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


def test_loading_numbers_as_they_are_makes_no_copy_beside_the_split(tmp_path: Path) -> None:
    """They were converted to what they were already."""
    file = tmp_path / "data.npz"
    x = np.arange(250_000, dtype=np.float32).reshape(500, 500)
    np.savez(file, x=x, y=np.arange(500) % 2)
    data = datasets.parse({"name": "npz", "file": str(file)})
    tracemalloc.start()
    data.load(None, Seeds(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.5 * x.nbytes
