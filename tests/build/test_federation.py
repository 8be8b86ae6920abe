"""Who holds which samples, and how they lie in memory."""

import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from typing_extensions import override

from simfl import run
from simfl.build.data import federate
from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples
from simfl.components.datasets.generated import Generated, GeneratedClients
from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.natural import Natural
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.errors import InputError, ScenarioError
from simfl.scenario import Scenario
from simfl.training.data import Partitioned

SIZE = 60


class Numbered(Dataset):
    """Sample i is the number i, and so is its label, modulo 10."""

    name: ClassVar[str] = "numbered"

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (1,), 10

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        samples = Samples(np.arange(SIZE, dtype=np.float32)[:, None], np.arange(SIZE) % 10)
        return Corpus(samples, samples, 10)


class Fixed(Partition):
    """Deals what it was told."""

    name: ClassVar[str] = "fixed"
    parts: list[list[int]]

    @override
    def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
        return [np.array(part, dtype=np.int64) for part in self.parts]


class OfBytes(Numbered):
    """Labels are of another type."""

    labels: str = "uint8"

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        whole = super().load(folder, seeds)
        samples = Samples(whole.train.x, whole.train.y.astype(self.labels))
        return Corpus(samples, samples, 10)


def dealt(parts: list[list[int]], held: float = 0.0) -> Partitioned:
    data, test = federate(Numbered(), Fixed(parts=parts), len(parts), held, 0.2, None, Seeds(0))
    assert isinstance(data, Partitioned)
    assert len(test) == SIZE
    return data


@pytest.mark.parametrize("held", [0.0, 0.25])
@pytest.mark.parametrize(
    "parts",
    [[[7, 3, 59, 4], [0], [], [12, 11, 10, 9, 8]], [[5, 6, 7, 8], [8, 7, 1, 2]]],
    ids=["disjoint", "shared"],
)
def test_each_client_holds_what_it_was_dealt_in_that_order(
    parts: list[list[int]], held: float
) -> None:
    federation = dealt(parts, held)
    x = federation.x[:, 0].numpy()
    for client, part in enumerate(parts):
        kept = max(int(len(part) * (1 - held)), min(len(part), 1))
        assert x[federation.train_rows[client]].tolist() == part[:kept]
        assert x[federation.validation_rows[client]].tolist() == part[kept:]
    assert np.array_equal(federation.y, x.astype(int) % 10)
    trained_on = [row for part in federation.train_rows for row in part]
    assert sorted(set(x[trained_on])) == sorted(federation.everybodys().x[:, 0])


class Named(Numbered):
    """Its own clients hold the first, second and last twenty."""

    natural_clients: ClassVar[bool] = True
    names: list[str]

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        samples = Samples(np.arange(SIZE, dtype=np.float32)[:, None], np.arange(SIZE) % 10)
        natural = list(np.arange(SIZE).reshape(3, 20))
        return Corpus(samples, samples, 10, natural, natural_names=np.array(self.names))


def test_natural_clients_keep_their_names() -> None:
    data, _ = federate(Named(names=["a", "b", "c"]), Natural(), 2, 0.2, 0.2, None, Seeds(0))
    firsts = data.training([0, 1])
    assert data.names is not None
    for rows, name in zip(firsts.rows, data.names, strict=True):
        assert "abc"[int(firsts.x[rows[0], 0]) // 20] == name
    with pytest.raises(InputError, match="expected an array of the name of each client"):
        federate(Named(names=["a"]), Natural(), 2, 0.2, 0.2, None, Seeds(0))


def test_workers_get_the_samples_and_not_what_was_counted() -> None:
    data = dealt([[7, 3], [59]])
    before = len(pickle.dumps(data))
    assert data.label_counts is not None
    assert data.label_counts.sum(axis=1).tolist() == data.sizes.tolist() == [2, 1]
    assert len(pickle.dumps(data)) == before
    assert np.array_equal(pickle.loads(pickle.dumps(data)).x, data.x)


def test_samples_lie_client_by_client_and_nobodys_are_left_behind() -> None:
    federation = dealt([[40, 2, 30], [1, 50]])
    assert federation.x[:, 0].tolist() == [40, 2, 30, 1, 50]
    assert [rows.tolist() for rows in federation.train_rows] == [[0, 1, 2], [3, 4]]


def test_samples_with_two_owners_are_not_copied() -> None:
    assert len(dealt([[1, 2, 3], [3, 4]]).x) == SIZE


@pytest.mark.parametrize("parts", [[[0, SIZE]], [[-1]], [[0.5]]])
def test_rows_that_are_not_there_are_told(parts: list[list[float]]) -> None:
    class Elsewhere(Partition):
        name: ClassVar[str] = "elsewhere"

        @override
        def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
            return [np.array(part) for part in parts]

    with pytest.raises(InputError, match=r"partition 'elsewhere', dealing: expected .*rows"):
        federate(Numbered(), Elsewhere(), 1, 0.0, 0.2, None, Seeds(0))


def test_what_a_partition_can_not_deal_is_told_with_its_place(tmp_path: Path) -> None:
    """Known only once the user's table is read."""
    rows = "".join(f"{i % 3},u{i % 2},{i % 2}\n" for i in range(20))
    (tmp_path / "t.csv").write_text(f"a,who,label\n{rows}")
    scenario = tmp_path / "s.yaml"
    scenario.write_text(
        "data:\n  dataset: {name: csv, file: t.csv, client: who}\n  partition: natural\n"
        "model: logistic_regression\nfleet: {count: 3}\nrounds: {stop: {rounds: 1}}\n"
    )
    with pytest.raises(ScenarioError, match=r"s.yaml:3:14: data.partition: .* has 2 clients"):
        run(Scenario.load(scenario), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_test_samples_of_clients_that_are_left_out_are_left_out(tmp_path: Path) -> None:
    rows = [f"{who % 2},{who},{who},{part}" for who in range(4) for part in ("train", "test", "1")]
    (tmp_path / "t.csv").write_text("\n".join(["label,a,who,part", *rows]))
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "client": "who", "test": "part"}
    dataset, first = datasets.parse(named), Natural(clients="first")
    for devices in (1, 3, 4):
        data, test = federate(dataset, first, devices, 0.0, 0.2, None, Seeds(0))
        assert isinstance(data, Partitioned)
        assert sorted(set(test.x[:, 0])) == sorted(set(data.x[:, 0].tolist()))
        assert len(test) == 2 * devices


def test_what_natural_clients_keep_aside_is_of_every_class_though_the_table_is_sorted(
    tmp_path: Path,
) -> None:
    """It was the last of their rows: all of one class."""
    rows = [f"{label},{n},{who}" for label in "abcd" for n in range(25) for who in range(3)]
    (tmp_path / "t.csv").write_text("\n".join(["label,x,who", *rows]))
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "client": "who", "test_share": 0.1}
    dataset = datasets.parse(named)

    def deal(held: float) -> Partitioned:
        data, _ = federate(dataset, Natural(), 3, held, 0.2, None, Seeds(0))
        assert isinstance(data, Partitioned)
        return data

    data, whole = deal(0.25), deal(0.0)
    for client in range(3):
        train, aside = data.train_rows[client], data.validation_rows[client]
        assert len(set(data.y[aside].tolist())) == 4
        assert len(train) + len(aside) == len(whole.train_rows[client])
    assert sorted(whole.y[whole.train_rows[0]].tolist()) == whole.y[whole.train_rows[0]].tolist()


def test_other_partitions_test_on_all_samples_whoever_holds_them(tmp_path: Path) -> None:
    rows = [f"{who % 2},{who},{who},{part}" for who in range(30) for part in ("train", "test")]
    (tmp_path / "t.csv").write_text("\n".join(["label,a,who,part", *rows]))
    named = {"name": "csv", "file": str(tmp_path / "t.csv"), "client": "who", "test": "part"}
    for partition in ({"name": "skewness", "xi": "80%"}, {"name": "shards", "per_client": 2}):
        dealing = partitions.parse(partition)
        _, test = federate(datasets.parse(named), dealing, 7, 0.0, 0.2, None, Seeds(0))
        assert len(test) == 30


@pytest.mark.parametrize("n", range(1, 12))
def test_a_fifth_is_held_back_as_fedcor_does(n: int) -> None:
    """FedCor trains on int(0.8 n) samples (docs/algorithms.md, 0), and on one at least."""
    data = dealt([list(range(n))], 0.2)
    assert len(data.train_rows[0]) == max(int(0.8 * n), 1)
    assert len(data.validation_rows[0]) == n - max(int(0.8 * n), 1)


@pytest.mark.parametrize(
    ("part", "train", "validation"),
    [
        ([5, 3, 5, 1, 2, 3, 4, 6], [5, 3, 5, 1, 2, 3], [4, 6]),
        ([1, 2, 3, 1, 2, 3, 4, 4], [1, 2, 3, 1, 2, 3], [4, 4]),
        ([9, 8, 8, 8, 8, 8, 7, 8], [9], [8, 8, 8, 8, 8, 7, 8]),  # the sixth place is within the 8s
        ([8, 8, 8, 8, 8, 8, 8, 7], [8, 8, 8, 8, 8, 8, 8], [7]),
        ([8, 8], [8, 8], []),
    ],
)
def test_no_client_is_measured_on_copies_of_what_it_trains_on(
    part: list[int], train: list[int], validation: list[int]
) -> None:
    data = dealt([part], 0.25)
    assert data.x[data.train_rows[0], 0].tolist() == train
    assert data.x[data.validation_rows[0], 0].tolist() == validation


@pytest.mark.parametrize("name", ["skewness", "dirichlet_skewness"])
def test_partitions_that_deal_samples_again_keep_training_and_validation_apart(name: str) -> None:
    partition = partitions.parse({"name": name, "samples": 30})
    data, _ = federate(Numbered(), partition, 20, 0.2, 0.2, None, Seeds(0))
    assert isinstance(data, Partitioned)
    for train, validation in zip(data.train_rows, data.validation_rows, strict=True):
        assert not np.intersect1d(train, validation).size
        assert len(train) + len(validation) == 30


def test_a_partition_can_not_change_the_labels() -> None:
    """One that sorted them had every client train on wrong ones."""

    class Sorts(Partition):
        def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
            source.labels.sort()
            return [np.arange(SIZE)]

    with pytest.raises(InputError, match=r"dealing: ValueError: .*read-only"):
        federate(Numbered(), Sorts(), 1, 0.0, 0.2, None, Seeds(0))


class Empty(Generated):
    """Nobody holds anything."""

    name: ClassVar[str] = "empty"

    @override
    def lazy(self, clients: int, seeds: Seeds) -> GeneratedClients:
        made = GeneratedClients(self, clients, seeds)
        made.__dict__["sizes"] = np.zeros(clients, dtype=np.int64)
        return made


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Generated(shift=1e300), "training samples hold NaN or infinity"),
        (Empty(), "has no training samples"),
    ],
)
def test_samples_made_on_demand_are_looked_at_too(dataset: Dataset, message: str) -> None:
    with pytest.raises(InputError, match=message):
        federate(dataset, Natural(), 5, 0.0, 0.2, None, Seeds(0))


class Chancy(Numbered):
    """Draws its inputs from the global generator."""

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        samples = Samples(np.random.rand(SIZE, 1).astype(np.float32), np.arange(SIZE) % 10)
        return Corpus(samples, samples, 10)


class Shuffled(Partition):
    """Deals as PyTorch's global generator has it."""

    @override
    def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
        return np.array_split(torch.randperm(len(source.labels)).numpy(), clients)


def test_what_is_drawn_from_global_state_is_the_seeds() -> None:
    """The same seed gave other data each time, without a word."""

    def inputs(seed: int) -> list[float]:
        data, _ = federate(Chancy(), Shuffled(), 4, 0.0, 0.2, None, Seeds(seed))
        cohort = data.training(range(4))
        return cohort.x[np.concatenate(cohort.rows)].flatten().tolist()

    before = torch.get_rng_state()
    assert inputs(0) == inputs(0) != inputs(1)
    assert torch.equal(torch.get_rng_state(), before)


class Random(Numbered):
    """Draws its labels from the global generator."""

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        labels = np.random.randint(0, 10, SIZE)
        samples = Samples(np.zeros((SIZE, 1), dtype=np.float32), labels)
        return Corpus(samples, samples, 10)


class Thrown(Partition):
    """Throws each sample to a client, by the global generator."""

    @override
    def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
        owner = np.random.randint(0, clients, len(source.labels))
        return [np.flatnonzero(owner == client) for client in range(clients)]


def test_a_partition_does_not_draw_what_the_data_set_has_drawn() -> None:
    """It drew the same numbers again: each client held a single class."""
    data, _ = federate(Random(), Thrown(), 10, 0.0, 0.2, None, Seeds(0))
    assert data.label_counts is not None
    assert (data.label_counts > 0).sum(1).max() > 1


class Sized(Generated):
    """Draws from the global generator what its clients are made by."""

    @override
    def lazy(self, clients: int, seeds: Seeds) -> GeneratedClients:
        return GeneratedClients(self, clients, Seeds(np.random.randint(1000)))


def test_what_makes_clients_on_demand_draws_by_the_seed_too() -> None:
    def sizes(seed: int) -> list[int]:
        data, _ = federate(Sized(), Natural(), 5, 0.0, 0.2, None, Seeds(seed))
        return data.sizes.tolist()

    assert sizes(0) == sizes(0) != sizes(1)


@pytest.mark.parametrize("labels", ["uint8", "int8", "uint64"])
def test_labels_of_any_whole_type_are_learned_from(labels: str) -> None:
    """They were let in, and ended in a raw error of PyTorch's."""
    data, test = federate(
        OfBytes(labels=labels), Fixed(parts=[[1, 13]]), 1, 0.0, 0.2, None, Seeds(0)
    )
    assert data.training([0]).y.tolist() == [1, 3]
    assert data.training([0]).y.dtype == torch.int64
    assert test.y.dtype == np.int64
