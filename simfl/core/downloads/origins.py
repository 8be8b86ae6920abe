"""Data sets and traces that no generator makes: where each comes from, and its checksums."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simfl.core.downloads.unpack import gunzip, untar, untouched, unzip
from simfl.core.downloads.unpack import mlab_ndt as mlab_csv

Unpack = Callable[[Path, Path], None]
"""Turns a download into files below a folder; each file appears whole or not at all."""


@dataclass(frozen=True)
class Download:
    """A file on the net.

    Attributes:
        url: where it is.
        bytes: its size.
        sha256: its checksum.
        makes: files below the target folder that it becomes.
        unpack: makes them.
    """

    url: str
    bytes: int
    sha256: str
    makes: tuple[str, ...]
    unpack: Unpack = untouched


@dataclass(frozen=True)
class Origin:
    """Where a data set or a trace comes from.

    Attributes:
        kind: data sets lie in the data folder, traces beside scenarios.
        about: what it is.
        licence: as its authors state it.
        home: a page on it.
        files: what must be there, below the data folder or beside the scenario.
        downloads: of which they are made; (): it can't be downloaded ready for use.
        by_hand: how to come by it, then.
    """

    kind: Literal["data set", "trace"]
    about: str
    licence: str
    home: str
    files: tuple[str, ...]
    downloads: tuple[Download, ...] = ()
    by_hand: str = ""

    @property
    def bytes(self) -> int:
        """How much is downloaded."""
        return sum(download.bytes for download in self.downloads)

    def missing(self, folder: Path) -> list[str]:
        """Return which of its files are not in `folder`."""
        return [name for name in self.files if not (folder / name).exists()]


def how_to_get(file: str) -> str:
    """Return a hint for a trace that is missing, by the name of its file; empty: not known."""
    for name, origin in ORIGINS.items():
        if origin.kind == "trace" and file in origin.files:
            return f"; `simfl data fetch {name} --to FOLDER` gets it"
    return ""


IDX = tuple(
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)


def _idx_set(folder: str, mirror: str, sums: tuple[tuple[int, str], ...]) -> tuple[Download, ...]:
    """Return the downloads of a set that torchvision keeps in `folder`."""
    return tuple(
        Download(f"{mirror}/{name}.gz", size, sha256, (f"{folder}/raw/{name}",), gunzip)
        for name, (size, sha256) in zip(IDX, sums, strict=True)
    )


CIFAR10 = tuple(
    f"cifar-10-batches-py/{name}"
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta")
)
CIFAR100 = tuple(f"cifar-100-python/{name}" for name in ("train", "test", "meta"))
EMNIST = tuple(
    f"EMNIST/raw/emnist-{split}-{part}-{kind}-ubyte"
    for split in ("balanced", "byclass", "bymerge", "digits", "letters", "mnist")
    for part in ("train", "test")
    for kind in ("images-idx3", "labels-idx1")
)
MLAB = "mlab_ndt_na_2022_06.csv.gz"

ORIGINS: dict[str, Origin] = {
    "mnist": Origin(
        "data set",
        "60,000 + 10,000 handwritten digits, 28 x 28",
        "CC BY-SA 3.0, as commonly given (LeCun, Cortes, Burges)",
        "https://yann.lecun.org/exdb/mnist/",
        tuple(f"MNIST/raw/{name}" for name in IDX),
        _idx_set(
            "MNIST",
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            (
                (9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
                (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
                (1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
                (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
            ),
        ),
    ),
    "fashion_mnist": Origin(
        "data set",
        "60,000 + 10,000 pictures of clothes, 28 x 28",
        "MIT (Zalando SE)",
        "https://github.com/zalandoresearch/fashion-mnist",
        tuple(f"FashionMNIST/raw/{name}" for name in IDX),
        _idx_set(
            "FashionMNIST",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
            (
                (26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
                (29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
                (4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
                (5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
            ),
        ),
    ),
    "cifar10": Origin(
        "data set",
        "50,000 + 10,000 colour photographs, 32 x 32",
        "none stated; cite Krizhevsky, 2009",
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        CIFAR10,
        (
            Download(
                "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                170498071,
                "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                CIFAR10,
                untar,
            ),
        ),
    ),
    "cifar100": Origin(
        "data set",
        "50,000 + 10,000 colour photographs, 32 x 32, of 100 classes in 20 groups",
        "none stated; cite Krizhevsky, 2009",
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        CIFAR100,
        (
            Download(
                "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
                169001437,
                "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
                CIFAR100,
                untar,
            ),
        ),
    ),
    "emnist": Origin(
        "data set",
        "handwritten digits and letters, 28 x 28, in six splits; 1.8 GB once unpacked",
        "none stated; cite Cohen et al., 2017",
        "https://www.nist.gov/itl/products-and-services/emnist-dataset",
        EMNIST,
        (
            Download(
                "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                561753746,
                "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
                EMNIST,
                unzip,
            ),
        ),
    ),
    "svhn": Origin(
        "data set",
        "73,257 + 26,032 colour photographs of house numbers, 32 x 32",
        "for non-commercial use only; cite Netzer et al., 2011",
        "http://ufldl.stanford.edu/housenumbers/",
        ("train_32x32.mat", "test_32x32.mat"),
        tuple(
            Download(f"http://ufldl.stanford.edu/housenumbers/{name}", size, sha256, (name,))
            for name, size, sha256 in (
                (
                    "train_32x32.mat",
                    182040794,
                    "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
                ),
                (
                    "test_32x32.mat",
                    64275384,
                    "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
                ),
            )
        ),
    ),
    "shakespeare": Origin(
        "data set",
        "what each role of Shakespeare's plays says",
        "public domain",
        "https://github.com/TalwalkarLab/leaf",
        ("shakespeare/shakespeare_roles.json.gz",),
        by_hand="LEAF's data/shakespeare/preprocess.sh writes all_data*.json: put it into the "
        "folder 'shakespeare' of the data folder; or write {users: [...], user_data: {user: "
        "{raw: text}}} of the plays' text as shakespeare_roles.json",
    ),
    "mlab_ndt": Origin(
        "trace",
        "10,000 speed tests of North America, June 2022: downlink and uplink of each",
        "CC0 (Measurement Lab's NDT data)",
        "https://www.measurementlab.net/tests/ndt/",
        (MLAB,),
        (
            Download(
                "https://raw.githubusercontent.com/eqfy/fl-experiments/"
                "0175da18f28890e79703d86aa8b93d44c27d46d3/data/ul_dl_NA_2022.06.json",
                979101,
                "7aee3bd4027b933896fec228931773119cb41dcf9ba510d34815ed9e1e87c226",
                (MLAB,),
                mlab_csv,
            ),
        ),
    ),
    "flash_train_time": Origin(
        "trace",
        "training times of three phones on four workloads, and how common each class is",
        "BSD-2-Clause (FLASH: Yang et al., WWW 2021)",
        "https://github.com/PKU-Chengxu/FLASH",
        ("flash_train_time.csv",),
        by_hand="it is in simfl's repository, beside scenarios/real_phones.yaml; its numbers are "
        "those of FLASH's models/utils/device_util/device_util.py",
    ),
}
"""By the name that `simfl data fetch` takes; a data set's is that of its component."""
