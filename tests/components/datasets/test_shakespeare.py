import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from simfl.components.datasets.base import datasets
from simfl.components.datasets.shakespeare import LEAF_CHARACTERS, TFF_CHARACTERS
from simfl.core.seeds import Seeds
from simfl.errors import InputError

TEXTS = {
    "PLAY_A": "To be, or not to be: that is the question. " * 5,  # 215 characters
    "PLAY_SHORT": "Ay.",
    "PLAY_B": "Now is the winter of our discontent {made} glorious summer~ by this sun " * 2,
    "PLAY_C": "x" * 300,
}


def content(user_data):
    return {
        "users": list(user_data),
        "num_samples": [1] * len(user_data),
        "hierarchies": ["PLAY"] * len(user_data),
        "user_data": user_data,
    }


@pytest.fixture
def roles(tmp_path):
    place = tmp_path / "shakespeare"
    place.mkdir()
    with gzip.open(place / "shakespeare_roles.json.gz", "wt") as file:
        json.dump(content({user: {"raw": text} for user, text in TEXTS.items()}), file)
    return tmp_path


def load(folder, seed=0, **options):
    options = {"name": "shakespeare", "share": 1, **options}
    return datasets.parse(options).load(folder, Seeds(seed))


def text(tokens, characters=LEAF_CHARACTERS, first=0):
    return "".join(characters[t - first] for t in tokens)


def test_windows_and_the_next_character(roles):
    corpus = load(roles)
    assert [len(rows) for rows in corpus.natural] == [108, 51, 176]  # 4/5 of 135, 64 and 220
    assert corpus.natural_names.tolist() == ["PLAY_A", "PLAY_B", "PLAY_C"]
    assert len(corpus.test) == 27 + 13 + 44
    assert corpus.train.x.dtype == corpus.train.y.dtype == np.int64
    said = TEXTS["PLAY_A"]
    for i in (0, 5, 107):
        assert text(corpus.train.x[corpus.natural[0][i]]) == said[i : i + 80]
        assert LEAF_CHARACTERS[corpus.train.y[corpus.natural[0][i]]] == said[i + 80]
    assert text(corpus.test.x[0]) == said[108:188]


def test_training_rows_are_all_rows_once(roles):
    corpus = load(roles)
    assert np.concatenate(corpus.natural).tolist() == list(range(len(corpus.train)))


def test_unknown_characters_count_as_blanks(roles):
    corpus = load(roles)
    winter = TEXTS["PLAY_B"]
    assert text(corpus.train.x[corpus.natural[1][0]]) == winter[:80].replace("{", " ").replace(
        "~", " "
    )


def test_the_90_class_vocabulary_keeps_padding_and_unknown_apart(roles):
    corpus = load(roles, vocabulary="fedcore")
    assert (len(TFF_CHARACTERS), len(set(TFF_CHARACTERS))) == (86, 86)
    assert corpus.classes == 90
    winter = TEXTS["PLAY_B"]
    tokens = corpus.train.x[corpus.natural[1][0]]
    assert tokens[winter.index("d")] == 1  # 'd' would be 0, the padding, in the authors' code
    assert tokens[winter.index("{")] == 87
    assert corpus.train.x.min() >= 1


@pytest.mark.parametrize("vocabulary", ["leaf", "fedcore"])
def test_the_shape_is_known_without_loading(roles, vocabulary):
    corpus = load(roles, vocabulary=vocabulary)
    data = datasets.parse({"name": "shakespeare", "vocabulary": vocabulary})
    assert data.shape() == (corpus.train.x.shape[1:], corpus.classes)
    assert data.shape()[1] == {"leaf": 80, "fedcore": 90}[vocabulary]


def test_stride_caps_and_gap(roles):
    strided = load(roles, stride=10)
    assert [len(rows) for rows in strided.natural] == [11, 17]  # 14 and 22 windows; 7 are too few
    assert text(strided.train.x[1]) == TEXTS["PLAY_A"][10:90]
    capped = load(roles, max_samples_per_client=50)
    assert [len(rows) for rows in capped.natural] == [40, 40, 40]
    assert len(capped.test) == 3 * 10
    gap = load(roles, gap=20)
    assert len(gap.test) == 7 + 0 + 24
    assert text(gap.test.x[7]) == TEXTS["PLAY_C"][196:276]
    assert text(gap.test.x[0]) == TEXTS["PLAY_A"][128:208]


def test_a_share_keeps_whole_roles_but_the_last(tmp_path):
    many = {f"R{i}": {"raw": "a" * (180 + i)} for i in range(40)}
    (tmp_path / "shakespeare_roles.json").write_text(json.dumps(content(many)))
    total = sum(100 + i for i in range(40))
    corpus = load(tmp_path, share=0.3)
    kept = len(corpus.train) + len(corpus.test)
    assert int(0.3 * total) - 10 < kept <= int(0.3 * total)
    assert sum(len(rows) < 80 for rows in corpus.natural) <= 1  # 4/5 of 100
    lengths = [4 * (100 + int(name[1:])) // 5 for name in corpus.natural_names]
    named = zip(lengths, corpus.natural, strict=True)
    assert sum(whole != len(rows) for whole, rows in named) <= 1
    again = load(tmp_path, seed=1, share=0.3)
    assert [len(rows) for rows in again.natural] == [len(rows) for rows in corpus.natural]
    by_run = [load(tmp_path, seed=s, share=0.3, generator_seed=None) for s in (0, 1)]
    assert [len(rows) for rows in by_run[0].natural] != [len(rows) for rows in by_run[1].natural]


def test_leafs_own_windows(tmp_path, roles):
    windows = {
        user: {
            "x": [said[i : i + 80] for i in range(len(said) - 80)],
            "y": [said[i + 80] for i in range(len(said) - 80)],
        }
        for user, said in TEXTS.items()
    }
    other = tmp_path / "leaf"
    other.mkdir()
    (other / "all_data_niid.json").write_text(json.dumps(content(windows)))
    mine, theirs = load(roles, stride=3), load(other, stride=3)
    assert np.array_equal(mine.train.x, theirs.train.x)
    assert np.array_equal(mine.test.y, theirs.test.y)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"not in .*shakespeare_roles\.json\.gz"):
        load(tmp_path)
    with pytest.raises(InputError, match="no data folder was given"):
        load(None)


@pytest.mark.parametrize(
    "damaged", ["", "[1]", '{"users": ["A"]}', '{"users": ["A"], "user_data": {"A": {"raw": 3}}}']
)
def test_damaged_files_are_an_input_error(tmp_path, damaged):
    (tmp_path / "all_data.json").write_text(damaged)
    with pytest.raises(InputError, match="LEAF's JSON layout"):
        load(tmp_path)


def test_a_truncated_archive_is_an_input_error(roles):
    path = roles / "shakespeare" / "shakespeare_roles.json.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="LEAF's JSON layout"):
        load(roles)


def test_no_role_with_enough_windows(roles):
    with pytest.raises(InputError, match="min_samples"):
        load(roles, min_samples=1000)


@pytest.mark.data
@pytest.mark.slow
def test_the_real_text():
    folder = Path(os.environ.get("SIMFL_DATA", "missing"))
    if not list(folder.glob("**/shakespeare_roles.json*")):
        pytest.skip("SIMFL_DATA names no folder with shakespeare_roles.json")
    corpus = load(folder, share=0.2)
    assert 0.19 * 4_200_675 < len(corpus.train) + len(corpus.test) <= 0.2 * 4_200_675
    assert len(corpus.natural) > 100
