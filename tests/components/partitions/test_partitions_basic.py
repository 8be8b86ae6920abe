import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from simfl.components.partitions.base import Source, partitions
from simfl.components.partitions.dealing import by_owner
from simfl.core.labels import label_counts
from simfl.errors import InputError

GENERIC = ["iid", "shards", "dirichlet"]


def assert_disjoint(dealt):
    rows = np.concatenate(dealt)
    assert len(np.unique(rows)) == len(rows)


@pytest.mark.parametrize("name", GENERIC)
def test_other_seeds_deal_otherwise(name, balanced, deal):
    one, other = (deal(name, balanced, 50, seed) for seed in (1, 2))
    assert any(not np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", GENERIC)
def test_labels_inside_a_client_are_shuffled(name, balanced, deal):
    """So that cutting off the last fifth gives a fair validation set."""
    dealt = deal(name, balanced, 20)
    rows = max(dealt, key=len)
    cut = int(0.8 * len(rows))
    whole, part = (label_counts([r], balanced.labels, 10)[0] for r in (rows, rows[cut:]))
    expected = whole * (len(rows) - cut) / len(rows)
    assert np.abs(part - expected).max() < 6 * np.sqrt(expected.max())


def test_iid_sizes_are_equal_and_labels_pass_a_chi_square_test(balanced, deal):
    dealt = deal("iid", balanced, 100)
    assert {len(rows) for rows in dealt} == {600}
    counts = label_counts(dealt, balanced.labels, 10)
    chi_square = ((counts - 60) ** 2 / 60).sum()
    freedom = 99 * 9
    assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)


def test_one_shard_per_client(balanced, deal):
    dealt = deal("shards", balanced, 100, per_client=1)
    counts = label_counts(dealt, balanced.labels, 10)
    assert (counts.sum(axis=1) == 600).all()
    assert ((counts > 0).sum(axis=1) == 1).all()
    assert ((counts > 0).sum(axis=0) == 10).all()
    assert_disjoint(dealt)


def test_two_shards_per_client(balanced, deal):
    pure = []
    for seed in range(60):
        counts = label_counts(
            deal("shards", balanced, 100, seed, per_client=2), balanced.labels, 10
        )
        assert (counts.sum(axis=1) == 600).all()
        assert ((counts > 0).sum(axis=1) <= 2).all()
        pure.append(((counts > 0).sum(axis=1) == 1).sum())
    # docs/algorithms.md, D.1: N * 19/199 clients are expected to get two shards of one label
    assert abs(np.mean(pure) - 100 * 19 / 199) < 4 * np.std(pure) / np.sqrt(60)


def test_shards_leave_the_remainder_out(deal, labelled):
    assert {len(rows) for rows in deal("shards", labelled([50, 53]), 10, per_client=2)} == {10}


def test_dirichlet_deals_everything_and_keeps_the_minimum(balanced, deal):
    dealt = deal("dirichlet", balanced, 200, alpha=0.05, min_samples=20)
    assert sum(map(len, dealt)) == 60000
    assert min(map(len, dealt)) >= 20
    assert_disjoint(dealt)


def test_what_small_clients_are_given_comes_from_whoever_is_the_largest_by_then(labelled, deal):
    source, clients = labelled([300] * 4), 20
    before = deal("dirichlet", source, clients, alpha=0.1, min_samples=0)
    left, gifts = [len(rows) for rows in before], [0] * clients
    for client in range(clients):
        while len(before[client]) + gifts[client] < 25:
            left[max(range(clients), key=lambda c: (left[c], -c))] -= 1
            gifts[client] += 1
    after = deal("dirichlet", source, clients, alpha=0.1, min_samples=25)
    assert list(map(len, after)) == np.add(left, gifts).tolist()
    assert sum(gifts) > 100
    kept = [np.isin(now, old).sum() for now, old in zip(after, before, strict=True)]
    assert kept == left


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_dirichlet_shares_have_the_variance_of_their_distribution(alpha, balanced, deal):
    """A share of Dir(a, .., a) over N clients has mean 1/N, variance (1/N)(1-1/N)/(N a + 1)."""
    clients = 20
    squares = []
    for seed in range(30):
        dealt = deal("dirichlet", balanced, clients, seed, alpha=alpha, min_samples=0)
        share = label_counts(dealt, balanced.labels, 10) / 6000
        squares.extend(((share - 1 / clients) ** 2).mean(axis=0))
    expected = (1 / clients) * (1 - 1 / clients) / (clients * alpha + 1)
    assert abs(np.mean(squares) - expected) < 4 * np.std(squares) / np.sqrt(len(squares))


def test_dirichlet_deals_alike_to_whoever_comes_last(deal):
    """Rounding cumulated shares down gave the last client some of every class."""
    labels, clients = np.repeat(np.arange(20), 50), 25
    held, sizes = [], []
    for seed in range(100):
        dealt = deal("dirichlet", Source(labels, 20), clients, seed, alpha=0.1, min_samples=0)
        held.append((label_counts(dealt, labels, 20) > 0).sum(axis=1))
        sizes.append([len(rows) for rows in dealt])
    assert stats.friedmanchisquare(*np.transpose(held)).pvalue > 1e-3
    assert stats.friedmanchisquare(*np.transpose(sizes)).pvalue > 1e-3


def test_what_a_small_client_is_given_lies_among_its_own_samples(labelled, deal):
    """As likely at the end, where its validation part is cut off, as anywhere."""
    source, first, last = labelled([5] * 20 + [400]), 0, 0
    for seed in range(20):  # nearly every class goes to one client as a whole
        dealt = deal("dirichlet", source, 40, seed, alpha=1e-6, min_samples=10)
        own = [source.labels[rows] < 20 for rows in dealt]
        mixed = np.stack([mine for mine in own if len(mine) == 10 and mine.sum() == 5])
        first += mixed[:, :5].sum()
        last += mixed[:, 5:].sum()
    assert first + last > 1000
    assert abs(first - last) < 4 * np.sqrt((first + last) * 5 / 9)


def test_dirichlet_deals_whole_classes_or_even_shares_at_its_limits(balanced, deal):
    few = label_counts(deal("dirichlet", balanced, 10, alpha=0.001), balanced.labels, 10)
    assert (few.max(axis=0) > 5900).all()  # each class all but wholly with one client
    many = label_counts(deal("dirichlet", balanced, 10, alpha=1e6), balanced.labels, 10)
    assert np.abs(many - 600).max() < 10


def test_natural_deals_the_data_sets_own_clients(deal):
    own = [np.array([0, 3]), np.array([1]), np.array([2, 4])]
    source = Source(np.zeros(5, dtype=np.int64), 1, own)
    for rows, expected in zip(deal("natural", source, 3), own, strict=True):
        assert rows.tolist() == expected.tolist()
    first = deal("natural", source, 2, clients="first")
    assert [rows.tolist() for rows in first] == [[0, 3], [1]]
    chosen = {tuple(len(rows) for rows in deal("natural", source, 2, seed)) for seed in range(20)}
    assert chosen == {(2, 1), (2, 2), (1, 2)}  # every subset, in the data set's order


def test_natural_refuses_what_it_cannot_do(deal):
    with pytest.raises(InputError, match="clients of its own"):
        deal("natural", Source(np.zeros(5, dtype=np.int64), 1), 2)
    with pytest.raises(
        InputError, match=r"3 clients with .* on, fewer than the fleet's 4 devices; .* for testing"
    ):
        deal(
            "natural", Source(np.zeros(3, dtype=np.int64), 1, [np.array([i]) for i in range(3)]), 4
        )


@pytest.mark.parametrize("name", GENERIC)
def test_too_few_samples_are_an_input_error(name, deal, labelled):
    with pytest.raises(InputError, match=f"partition '{name}'"):
        deal(name, labelled([3, 4]), 8)


def test_by_owner_keeps_the_order_without_a_generator():
    dealt = by_owner(np.array([5, 3, 9, 1]), np.array([2, 0, 2, 0]), 4)
    assert [rows.tolist() for rows in dealt] == [[3, 1], [], [5, 9], []]


@pytest.mark.parametrize("name", ["dirichlet", "fedcor_dirichlet"])
def test_a_concentration_has_an_end(name: str) -> None:
    """Beyond, draws overflow; long before, all shares are equal."""
    with pytest.raises(ValidationError, match="less than or equal to"):
        partitions.get(name).model_validate({"alpha": 1e308})


def test_the_largest_concentration_deals_everybody_alike() -> None:
    labels = np.repeat(np.arange(4), 25)
    partition = partitions.parse({"name": "dirichlet", "alpha": 1e9})
    dealt = partition.deal(Source(labels, 4), 5, np.random.default_rng(0))
    assert np.abs(label_counts(dealt, labels, 4) - 5).max() <= 1
