"""Every registered data set goes through the contract, which catches faulty ones."""

import atexit
import tempfile
from pathlib import Path

import numpy as np
import pytest

from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples
from simfl.errors import InputError
from simfl.testing.contract import suites
from simfl.testing.datasets import DatasetContract
from tests.components.datasets.own_files import write

FOLDER = tempfile.TemporaryDirectory()
atexit.register(FOLDER.cleanup)
TRAITS = {"synthetic_images": {"options": {"samples": 300, "test_samples": 40}}}
TRAITS |= {name: {"options": options} for name, options in write(Path(FOLDER.name)).items()}
SUITES = suites(DatasetContract, datasets, TRAITS)
for name in {"parquet", "hugging_face"} - set(TRAITS):
    skipped = pytest.mark.skip(reason=f"what data set {name!r} needs is not installed")
    SUITES[f"Test_{name}"] = skipped(SUITES[f"Test_{name}"])
globals().update(SUITES)


class Even(Dataset):
    """Two natural clients and two classes; each subclass does one thing wrong."""

    natural_clients = True

    def shape(self):
        return (3,), 2

    def load(self, folder, seeds):
        rng = seeds.stream("data", "even")
        samples = Samples(rng.normal(size=(8, 3)).astype(np.float32), np.arange(8) % 2)
        return Corpus(samples, samples, 2, self.natural())

    def natural(self):
        return [np.arange(5), np.arange(5, 8)]


class Double(Even):
    def load(self, folder, seeds):
        corpus = super().load(folder, seeds)
        samples = Samples(corpus.train.x.astype(np.float64), corpus.train.y)
        return Corpus(samples, samples, 2, corpus.natural)


class MoreClasses(Even):
    def load(self, folder, seeds):
        corpus = super().load(folder, seeds)
        samples = Samples(corpus.train.x, corpus.train.y + 1)
        return Corpus(samples, samples, 2, corpus.natural)


class NotFinite(Even):
    targets = "numbers"

    def load(self, folder, seeds):
        corpus = super().load(folder, seeds)
        samples = Samples(corpus.train.x * np.float32(np.nan), corpus.train.y.astype(np.float32))
        return Corpus(samples, samples, 2, corpus.natural)


class Wider(Even):
    def shape(self):
        return (4,), 2


class Overlap(Even):
    def natural(self):
        return [np.arange(5), np.arange(4, 8)]


class NoClients(Even):
    def natural(self):
        return None


class DrawsForItself(Even):
    def load(self, folder, seeds):
        corpus = super().load(folder, seeds)
        corpus.train.x[:] = np.random.default_rng().normal(size=corpus.train.x.shape)
        return corpus


class OnDemand(Even):
    """Makes the data of clients on demand, from a generator of its own."""

    def lazy(self, clients, seeds):
        return Clients(clients)


class Clients:
    classes = 2

    def __init__(self, clients):
        self.sizes = np.full(clients, 4)
        self.rng = np.random.default_rng(0)
        self.test = self.client(0)

    def client(self, client):
        return Samples(self.rng.normal(size=(4, 3)).astype(np.float32), np.arange(4) % 2)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Double, "test_samples_are_as_announced"),
        (MoreClasses, "test_samples_are_as_announced"),
        (NotFinite, "test_samples_are_as_announced"),
        (Wider, "test_samples_are_as_announced"),
        (Overlap, "test_natural_clients"),
        (NoClients, "test_natural_clients"),
        (DrawsForItself, "test_loaded_again_it_is_the_same"),
        (OnDemand, "test_clients_on_demand_are_always_the_same"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(DatasetContract, test, fault, sound=Even)


class Downloads(Even):
    needs_files = True

    def load(self, folder, seeds):
        (folder / "downloaded").touch()
        raise InputError(f"not in {folder}")


class Invents(Even):
    needs_files = True


@pytest.mark.parametrize(
    ("fault", "complaint"), [(Downloads, "something was written"), (Invents, "DID NOT RAISE")]
)
def test_what_happens_without_files_is_caught(fault, complaint, tmp_path) -> None:
    suite = type("Suite", (DatasetContract,), {"create": fault})()
    with pytest.raises((AssertionError, pytest.fail.Exception), match=complaint):
        suite.test_missing_files(tmp_path)
