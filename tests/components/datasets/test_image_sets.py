import hashlib
import json
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from simfl.cli import main
from simfl.components.datasets import svhn
from simfl.components.datasets.base import datasets
from simfl.components.datasets.cifar10 import Cifar10
from simfl.components.datasets.cifar100 import Cifar100
from simfl.components.datasets.emnist import SIZES
from simfl.core.downloads.folders import cache_folder, data_folders
from simfl.core.downloads.origins import ORIGINS, Download
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from tests.tiny import TINY

NAMES = ("mnist", "fashion_mnist", "cifar10", "cifar100", "emnist", "svhn")


def parse(name, **options):
    return datasets.parse({"name": name, **options})


def write_idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


@pytest.fixture
def tiny_mnist(tmp_path):
    """Thirty random digits to train on and ten to test on, in MNIST's own file format."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (40, 28, 28))
    labels = np.arange(40) % 10
    raw = tmp_path / "MNIST" / "raw"
    write_idx(raw / "train-images-idx3-ubyte", pixels[:30])
    write_idx(raw / "train-labels-idx1-ubyte", labels[:30])
    write_idx(raw / "t10k-images-idx3-ubyte", pixels[30:])
    write_idx(raw / "t10k-labels-idx1-ubyte", labels[30:])
    return tmp_path, pixels, labels


def test_pixels_and_labels_arrive_as_they_are(tiny_mnist):
    folder, pixels, labels = tiny_mnist
    corpus = parse("mnist", normalise="none").load(folder, Seeds(0))
    assert corpus.train.x.shape == (30, 1, 28, 28)
    assert corpus.train.x.dtype == np.float32
    np.testing.assert_array_equal(np.rint(corpus.test.x[:, 0] * 255), pixels[30:])
    assert corpus.train.y.tolist() == labels[:30].tolist()
    assert corpus.natural is None


def test_who_only_looks_at_mnist_waits_for_no_torch(tiny_mnist):
    """`simfl partition` and `simfl fleet` did, for torchvision's reader of its files."""
    code = (
        "import sys; from pathlib import Path; from simfl.core.seeds import Seeds; "
        "from simfl.components.datasets.base import datasets; "
        "print(len(datasets.parse('mnist').load(Path(sys.argv[1]), Seeds(0)).train.y)); "
        "print(*{'torch', 'torchvision'} & {*sys.modules})"
    )
    words = [sys.executable, "-c", code, str(tiny_mnist[0])]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout == "30\n\n"


@pytest.mark.parametrize(
    ("normalise", "shift", "scale"),
    [("standard", 0.1307, 0.3081), ("mnist_constants", 0.1307, 0.3081), ("half", 0.5, 0.5)],
)
def test_normalisation_presets_shift_and_scale_pixels(tiny_mnist, normalise, shift, scale):
    folder, pixels, _ = tiny_mnist
    corpus = parse("mnist", normalise=normalise).load(folder, Seeds(0))
    expected = (pixels[:30] / 255 - shift) / scale
    np.testing.assert_allclose(corpus.train.x[:, 0], expected, atol=1e-6)


def test_per_pixel_normalisation_pools_training_and_test_images(tiny_mnist):
    folder, pixels, _ = tiny_mnist
    corpus = parse("mnist", normalise="per_pixel").load(folder, Seeds(0))
    expected = (pixels - pixels.mean(0)) / (pixels.std(0) + 0.001)
    mine = np.concatenate([corpus.train.x, corpus.test.x])[:, 0]
    np.testing.assert_allclose(mine, expected, atol=1e-5)


def test_normalising_takes_little_memory_beside_the_images(tiny_mnist):
    """Deviations of all pixels were in memory at once, in twice their precision."""
    raw = tiny_mnist[0] / "MNIST/raw"
    write_idx(raw / "train-images-idx3-ubyte", np.arange(1000 * 28 * 28).reshape(-1, 28, 28))
    write_idx(raw / "train-labels-idx1-ubyte", np.zeros(1000))
    tracemalloc.start()
    corpus = parse("mnist", normalise="per_pixel").load(tiny_mnist[0], Seeds(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * corpus.train.x.nbytes


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_without_the_files_names_them(tmp_path, name):
    data = parse(name)
    with pytest.raises(InputError) as caught:
        data.load(tmp_path, Seeds(0))
    assert data.files
    assert all(file in str(caught.value) for file in data.files)
    assert f"simfl data fetch {name}" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_missing_is_named(tiny_mnist):
    folder, *_ = tiny_mnist
    (folder / "MNIST/raw/t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(InputError, match="expected MNIST/raw/t10k-labels-idx1-ubyte there"):
        parse("mnist").load(folder, Seeds(0))


@pytest.mark.parametrize("keep", [0, 3, 200])
def test_a_damaged_file_is_an_input_error(tiny_mnist, keep):
    folder, *_ = tiny_mnist
    path = folder / "MNIST/raw/train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=f"damaged files: {path}: it ") as caught:
        parse("mnist").load(folder, Seeds(0))
    assert "labels" not in str(caught.value)
    assert f"simfl data fetch mnist --to {folder}" in str(caught.value)


def test_a_damaged_header_is_an_input_error(tiny_mnist):
    folder, *_ = tiny_mnist
    path = folder / "MNIST/raw/t10k-labels-idx1-ubyte"
    floats = struct.pack(">HBBI", 0, 0x0D, 1, 10) + np.zeros(10, dtype=">f4").tobytes()
    path.write_bytes(floats)
    with pytest.raises(InputError, match=f"{path}: it does not begin as an IDX file of 1 dim"):
        parse("mnist").load(folder, Seeds(0))


def test_files_that_do_not_belong_together_are_an_input_error(tiny_mnist):
    folder, *_ = tiny_mnist
    write_idx(folder / "MNIST/raw/train-labels-idx1-ubyte", np.zeros(20))
    with pytest.raises(InputError, match=r"images of shape \(30, 1, 28, 28\) and 20 targets"):
        parse("mnist").load(folder, Seeds(0))


@pytest.mark.parametrize(("file", "part"), [("train", "training"), ("t10k", "test")])
def test_a_label_that_there_is_no_class_for_is_the_files_fault(tiny_mnist, file, part):
    """It was told with the line of the scenario that names the data set, as if that were wrong."""
    folder, *_ = tiny_mnist
    path = folder / f"MNIST/raw/{file}-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + bytes([77]))
    told = f"of data set 'mnist' in {folder} are damaged .{part} labels are 0 to 9, but one is 77.;"
    with pytest.raises(InputError, match=told):
        parse("mnist").load(folder, Seeds(0))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("cifar10", "cifar-10-batches-py/data_batch_1"),
        ("cifar100", "cifar-100-python/train"),
        ("svhn", "train_32x32.mat"),
    ],
)
def test_files_of_another_checksum_are_not_even_opened(name, first, tmp_path):
    for file in ORIGINS[name].files:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps({}))
    with pytest.raises(
        InputError, match=f"damaged files: {tmp_path / first}: its checksum"
    ) as told:
        parse(name).load(tmp_path, Seeds(0))
    assert all(file in str(told.value) for file in ORIGINS[name].files)
    assert f"simfl data fetch {name} --to {tmp_path}" in str(told.value)


def md5(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


def write_pickles(folder, batches):
    """Write what each file is to hold as CIFAR's are written, and return their checksums."""
    folder.mkdir()
    for name, batch in batches.items():
        written = {key.encode(): value for key, value in batch.items()}
        (folder / name).write_bytes(pickle.dumps(written, protocol=2))
    return {name: md5(folder / name) for name in batches}


def photographs(n):
    return np.random.default_rng(n).integers(0, 256, (n, 3072), dtype=np.uint8)


@pytest.fixture
def tiny_cifar100(tmp_path, monkeypatch):
    """Twelve random photographs to train on and five to test on, in CIFAR-100's own format."""
    rng = np.random.default_rng(0)
    parts = {
        part: {
            "data": photographs(n),
            "fine_labels": rng.integers(0, 100, n).tolist(),
            "coarse_labels": rng.integers(0, 20, n).tolist(),
        }
        for part, n in (("train", 12), ("test", 5))
    }
    meta = {"fine_label_names": [f"{i}" for i in range(100)]}
    sums = write_pickles(tmp_path / "cifar-100-python", {**parts, "meta": meta})
    monkeypatch.setattr(Cifar100, "md5", sums)
    return tmp_path, parts


def test_batches_of_cifar10_are_read_without_torchvision(tmp_path, monkeypatch):
    """Its import took seconds, and as much memory as 7,000 photographs."""
    monkeypatch.setitem(sys.modules, "torchvision", None)
    names = [Path(file).name for file in ORIGINS["cifar10"].files]
    batches = {
        name: {"data": photographs(n), "labels": [n] * n} for n, name in enumerate(names[:-1], 1)
    }
    folder = tmp_path / "cifar-10-batches-py"
    monkeypatch.setattr(Cifar10, "md5", write_pickles(folder, {**batches, names[-1]: {}}))
    corpus = parse("cifar10", normalise="none").load(tmp_path, Seeds(0))
    assert corpus.train.y.tolist() == [n for n in range(1, 6) for _ in range(n)]
    assert corpus.test.y.tolist() == [6] * 6
    pixels = np.concatenate([batches[name]["data"] for name in names[:5]])
    np.testing.assert_array_equal(np.rint(corpus.train.x * 255), pixels.reshape(-1, 3, 32, 32))


@pytest.mark.parametrize(("labels", "classes"), [("fine", 100), ("coarse", 20)])
def test_cifar100_has_two_kinds_of_labels(tiny_cifar100, labels, classes):
    folder, parts = tiny_cifar100
    data = parse("cifar100", labels=labels, normalise="none")
    corpus = data.load(folder, Seeds(0))
    assert data.shape() == ((3, 32, 32), classes)
    assert corpus.classes == classes
    for part, samples in (("train", corpus.train), ("test", corpus.test)):
        assert samples.y.tolist() == parts[part][f"{labels}_labels"]
        pixels = parts[part]["data"].reshape(-1, 3, 32, 32)
        np.testing.assert_array_equal(np.rint(samples.x * 255), pixels)


def test_a_damaged_part_of_cifar100_is_named_alone(tiny_cifar100):
    folder, _ = tiny_cifar100
    (folder / "cifar-100-python/meta").write_bytes(b"")
    with pytest.raises(InputError, match=r"damaged files: \S*cifar-100-python/meta: its") as caught:
        parse("cifar100", labels="coarse").load(folder, Seeds(0))
    assert "python/train" not in str(caught.value)


def write_emnist(folder, split, labels):
    """Write a split of random characters in EMNIST's format, and return their pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (len(labels), 28, 28))
    for part in ("train", "test"):
        start = folder / "EMNIST/raw" / f"emnist-{split}-{part}"
        write_idx(start.with_name(f"{start.name}-images-idx3-ubyte"), pixels)
        write_idx(start.with_name(f"{start.name}-labels-idx1-ubyte"), labels)
    return pixels


@pytest.mark.parametrize(
    ("split", "labels", "classes"),
    [
        ("letters", [1, 26, 3], [0, 25, 2]),
        ("balanced", [0, 46, 3], [0, 46, 3]),
        ("byclass", [61, 0, 3], [61, 0, 3]),
    ],
)
def test_emnist_is_upright_and_begins_at_class_0(tmp_path, split, labels, classes):
    pixels = write_emnist(tmp_path, split, np.array(labels))
    corpus = parse("emnist", split=split, normalise="none").load(tmp_path, Seeds(0))
    assert corpus.test.y.tolist() == corpus.train.y.tolist() == classes
    assert corpus.classes == max(classes) + 1
    lying = np.rint(corpus.train.x[:, 0] * 255).transpose(0, 2, 1)
    np.testing.assert_array_equal(lying, pixels)


def test_a_split_of_emnist_needs_its_own_files_alone(tmp_path):
    write_emnist(tmp_path, "digits", np.arange(3))
    parse("emnist", split="digits").load(tmp_path, Seeds(0))
    with pytest.raises(InputError, match="expected EMNIST/raw/emnist-mnist-train-images") as caught:
        parse("emnist", split="mnist").load(tmp_path, Seeds(0))
    assert "digits" not in str(caught.value)
    path = tmp_path / "EMNIST/raw/emnist-digits-test-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=f"{path}: it has 10 bytes, but 11 by its own header"):
        parse("emnist", split="digits").load(tmp_path, Seeds(0))


def test_emnist_knows_each_splits_size_before_it_is_loaded():
    known = {split: parse("emnist", split=split) for split in SIZES}
    assert {split: (data.shape()[1], data.samples_known) for split, data in known.items()} == SIZES
    assert sorted(file for data in known.values() for file in data.files) == sorted(
        ORIGINS["emnist"].files
    )


def test_svhn_calls_the_digit_0_class_0(tmp_path, monkeypatch):
    rng, sums = np.random.default_rng(0), {}
    pixels, labels = rng.integers(0, 256, (32, 32, 3, 4), dtype=np.uint8), [[1], [9], [10], [5]]
    for part in ("train", "test"):
        file = tmp_path / f"{part}_32x32.mat"
        savemat(file, {"X": pixels, "y": np.array(labels, dtype=np.uint8)})
        sums[file.name] = md5(file)
    monkeypatch.setattr(svhn, "MD5", sums)
    corpus = parse("svhn", normalise="none").load(tmp_path, Seeds(0))
    assert corpus.train.y.tolist() == corpus.test.y.tolist() == [1, 9, 0, 5]
    np.testing.assert_array_equal(np.rint(corpus.train.x * 255), pixels.transpose(3, 2, 0, 1))


def test_a_failed_download_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    nowhere = Download("http://127.0.0.1:1/x.gz", 1, "", ("FashionMNIST/x",))
    origin = replace(ORIGINS["fashion_mnist"], downloads=(nowhere,), files=("FashionMNIST/x",))
    monkeypatch.setitem(ORIGINS, "fashion_mnist", origin)
    with pytest.raises(InputError, match=r"could not .*refused.*Without a network") as caught:
        parse("fashion_mnist").load(None, Seeds(0))
    assert str(caught.value).endswith("name that one (data_dir, SIMFL_DATA)")


def test_downloads_go_to_the_users_cache(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/simfl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "simfl"


def test_without_a_home_folder_data_sets_lie_where_the_user_says(monkeypatch, tmp_path):
    """Users of a container may have no name, and then no home: `RuntimeError` says so."""

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "SIMFL_DATA"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="no home folder to keep data sets in; set HOME or"):
        parse("fashion_mnist").load(None, Seeds(0))
    assert main(["data"]) == 2
    monkeypatch.setenv("SIMFL_DATA", str(tmp_path))
    assert data_folders() == [tmp_path]
    (tmp_path / "at_no_home.py").write_text(
        "from simfl.components.selectors.uniform import Uniform\n\nclass Mine(Uniform): pass\n"
    )
    (tmp_path / "s.yaml").write_text(json.dumps({**TINY, "selection": "at_no_home:Mine"}))
    assert main(["validate", str(tmp_path / "s.yaml"), "--allow-code"]) == 0  # not remembered


@pytest.mark.parametrize("normalise", ["standard", "mnist_constants", "half", "none"])
def test_black_is_what_a_pixel_of_zero_becomes(tmp_path, normalise):
    raw = tmp_path / "MNIST" / "raw"
    for part in ("train", "t10k"):
        write_idx(raw / f"{part}-images-idx3-ubyte", np.zeros((2, 28, 28)))
        write_idx(raw / f"{part}-labels-idx1-ubyte", np.zeros(2))
    data = parse("mnist", normalise=normalise)
    assert data.load(tmp_path, Seeds(0)).train.x == pytest.approx((data.black or (0.0,))[0])


def test_black_per_channel():
    assert parse("cifar10").black == pytest.approx((-2.4291, -2.4183, -2.2214), abs=1e-4)
    assert parse("cifar10", normalise="mnist_constants").black == pytest.approx([-0.424213] * 3)
    assert parse("cifar10", normalise="per_pixel").black is None


def test_shapes_are_known_without_loading():
    assert parse("mnist").shape() == ((1, 28, 28), 10)
    assert parse("fashion_mnist").shape() == ((1, 28, 28), 10)
    assert parse("cifar10").shape() == parse("svhn").shape() == ((3, 32, 32), 10)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "tested", "least"),
    [
        ("mnist", 60000, 10000, 892),
        ("fashion_mnist", 60000, 10000, 1000),
        ("cifar10", 50000, 10000, 1000),
        ("cifar100", 50000, 10000, 100),
        ("emnist", 112800, 18800, 400),
        ("svhn", 73257, 26032, 1595),
    ],
)
def test_the_real_sets(name, n, tested, least):
    folder = Path(os.environ.get("SIMFL_DATA", "/nowhere"))
    data = parse(name)
    if not all((folder / file).exists() for file in data.files):
        pytest.skip(f"SIMFL_DATA names no data folder with {name}")
    corpus = data.load(folder, Seeds(0))
    assert (len(corpus.train), len(corpus.test)) == (n, tested)
    assert (corpus.train.x.shape[1:], corpus.classes) == data.shape()
    assert np.bincount(corpus.test.y).min() >= least
    channels = corpus.train.x.mean(axis=(0, 2, 3), dtype=float)
    assert np.abs(channels).max() < 0.001
    if name == "fashion_mnist":
        assert np.bincount(corpus.train.y).tolist() == [6000] * 10
