import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from simfl.components.partitions.base import Source, partitions
from simfl.components.partitions.dirichlet_skewness import DirichletSkewness
from simfl.components.partitions.fedcor_dirichlet import even_sizes
from simfl.components.partitions.power_law_two_digits import PowerLawTwoDigits
from simfl.core.labels import label_counts
from simfl.core.machine import memory
from simfl.errors import InputError

PAPERS = ["power_law_two_digits", "fedcor_dirichlet", "skewness", "dirichlet_skewness", "power_law"]


@pytest.mark.parametrize("name", ["skewness", "dirichlet_skewness"])
def test_samples_without_room_are_refused(name, mnist_pooled, deal, monkeypatch):
    """They were dealt until the system ended the run, for want of memory."""
    monkeypatch.setattr(memory, "free_memory", lambda: float(2**30))
    told = f"partition '{name}' with 1,000,000 samples for each of 100 clients needs 3.7 GiB"
    with pytest.raises(InputError, match=told):
        deal(name, mnist_pooled, 100, samples=1_000_000)


# --- D.5 -----------------------------------------------------------------------------------------


def test_two_digits_published_totals(mnist_pooled, deal):
    dealt = deal("power_law_two_digits", mnist_pooled, 1000)
    sizes = np.array([len(rows) for rows in dealt])
    train = (0.9 * sizes).astype(int)
    assert (sizes.sum(), train.sum()) == (69_052, 61_682)
    assert round(train.std(), 1) == 139.0
    assert sizes.min() >= 10
    assert len(np.unique(np.concatenate(dealt))) == sizes.sum()


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_two_digits_labels_and_total(seed, mnist_pooled, deal):
    dealt = deal("power_law_two_digits", mnist_pooled, 1000, generator_seed=seed)
    counts = label_counts(dealt, mnist_pooled.labels, 10)
    for user, held in enumerate(counts):
        assert set(np.flatnonzero(held)) == {user % 10, (user + 1) % 10}
        assert held[held > 0].min() >= 5
    assert 69_000 <= counts.sum() <= 69_100


def test_two_digits_pools_the_test_set_and_needs_whole_groups(mnist_pooled, deal, labelled):
    assert PowerLawTwoDigits.pools_test
    with pytest.raises(InputError, match="multiple of the 10 classes, but got 999"):
        deal("power_law_two_digits", mnist_pooled, 999)
    with pytest.raises(InputError, match="needs 100 samples of each class"):
        deal("power_law_two_digits", labelled([99] * 10), 100)


def test_two_digits_without_a_generator_seed_follow_the_run(mnist_pooled, deal):
    one, two = (
        [len(r) for r in deal("power_law_two_digits", mnist_pooled, 1000, s, generator_seed=None)]
        for s in (0, 1)
    )
    assert one != two


# --- D.2 -----------------------------------------------------------------------------------------


def test_even_sizes_closed_form():
    mixtures = np.array([[0.8, 0.5, 0.1], [0.2, 0.5, 0.9]])
    sizes = even_sizes(mixtures, np.array([60.0, 40.0]))
    assert sizes is not None
    np.testing.assert_allclose(sizes, np.array([1900, 1300, 500]) / 37, rtol=1e-12)


def test_even_sizes_of_pure_clients_are_the_class_sizes():
    demand = np.arange(100.0, 200.0, 10.0)
    sizes = even_sizes(np.eye(10), demand)
    assert sizes is not None
    np.testing.assert_allclose(sizes, demand)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_even_sizes_are_optimal_under_the_bound(seed):
    """Karush-Kuhn-Tucker: x = max(1, Q'y) for some y, and the equations hold."""
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(3, 0.5), size=8).T
    demand = mixtures @ (1 + rng.gamma(0.3, 100, size=8))  # some sizes x >= 1 exist
    sizes = even_sizes(mixtures, demand)
    assert sizes is not None
    np.testing.assert_allclose(mixtures @ sizes, demand, rtol=1e-6)
    assert sizes.min() >= 1 - 1e-9
    free = sizes > 1 + 1e-6
    y = np.linalg.lstsq(mixtures[:, free].T, sizes[free], rcond=None)[0]
    np.testing.assert_allclose(mixtures[:, free].T @ y, sizes[free], rtol=1e-4)
    if np.linalg.matrix_rank(mixtures[:, free]) == 3:
        assert (mixtures[:, ~free].T @ y <= 1 + 1e-3).all()


def test_even_sizes_of_impossible_demands():
    assert even_sizes(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([60.0, 40.0])) is None
    assert even_sizes(np.array([[0.9, 0.8], [0.1, 0.2]]), np.array([50.0, 50.0])) is None


def test_fedcor_dirichlet_uses_every_sample_once(balanced, deal):
    dealt = deal("fedcor_dirichlet", balanced, 100)
    assert sorted(np.concatenate(dealt)) == list(range(60_000))
    assert label_counts(dealt, balanced.labels, 10).sum(axis=0).tolist() == [6000] * 10


def test_fedcor_dirichlet_deals_alike_where_no_sizes_fit(deal):
    """Of clients who want the same class alone, the first got all of it."""
    labels = np.repeat(np.arange(10), np.arange(20, 220, 20))
    sizes = []
    for seed in range(60):
        dealt = deal("fedcor_dirichlet", Source(labels, 10), 13, seed, alpha=1e-3)
        sizes.append([len(rows) for rows in dealt])
    assert stats.friedmanchisquare(*np.transpose(sizes)).pvalue > 1e-3


def test_fedcor_dirichlet_published_statistics(balanced, deal):
    """docs/algorithms.md, D.2: sizes 371..1254 on average, std 200; concentration .02 is peaky."""
    sizes, shares = [], []
    for seed in range(20):
        counts = label_counts(deal("fedcor_dirichlet", balanced, 100, seed), balanced.labels, 10)
        sizes.append(counts.sum(axis=1))
        shares.append((counts.max(axis=1) / counts.sum(axis=1)).mean())
    assert abs(np.mean([s.min() for s in sizes]) - 371) < 40
    assert abs(np.mean([s.max() for s in sizes]) - 1254) < 250
    assert abs(np.mean([s.std() for s in sizes]) - 200) < 40
    assert np.mean(shares) > 0.85


@pytest.mark.parametrize("clients", [1, 3, 9])
def test_fedcor_dirichlet_with_fewer_clients_than_classes(clients, balanced, deal):
    dealt = deal("fedcor_dirichlet", balanced, clients)
    assert sorted(np.concatenate(dealt)) == list(range(60_000))


def test_fedcor_dirichlet_with_an_absent_class(deal, labelled):
    dealt = deal("fedcor_dirichlet", labelled([50, 0, 70]), 6)
    assert sum(map(len, dealt)) == 120


def test_fedcor_dirichlet_needs_a_sample_per_client(deal, labelled):
    with pytest.raises(InputError, match="5 samples to 6 clients"):
        deal("fedcor_dirichlet", labelled([5]), 6)


# --- D.3 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("xi", "main"), [(1, 600), (0.8, 480), (0.5, 300)])
def test_skewness_counts_are_exact(xi, main, balanced, deal):
    counts = label_counts(deal("skewness", balanced, 100, xi=xi), balanced.labels, 10)
    assert (counts.sum(axis=1) == 600).all()
    assert (counts.max(axis=1) == main).all()
    assert np.bincount(counts.argmax(axis=1)).tolist() == [10] * 10
    for held in counts:
        others = np.delete(held, held.argmax())
        assert others.max() - others.min() <= 1
        assert (np.diff(others) <= 0).all()  # the first labels get what is left over
    if xi == 0.8:
        assert set(np.unique(np.sort(counts, axis=1)[:, :9])) == {13, 14}


def test_skewness_one_on_equal_classes_deals_everything_once(balanced, deal):
    rows = np.concatenate(deal("skewness", balanced, 100, xi=1))
    assert sorted(rows) == list(range(60_000))


def test_skewness_one_on_mnist_reuses_only_short_classes(mnist_train, deal):
    rows = np.concatenate(deal("skewness", mnist_train, 100, xi=1, samples=600))
    used = np.bincount(rows, minlength=len(mnist_train.labels))
    for label, size in enumerate(np.bincount(mnist_train.labels)):
        of_class = used[mnist_train.labels == label]
        assert of_class.sum() == 6000
        assert of_class.max() == (2 if size < 6000 else 1)
        assert (of_class == 2).sum() == max(6000 - size, 0)  # 579 of the fives


@pytest.mark.parametrize("xi", ["H", "H_balanced"])
def test_skewness_h_is_half_and_half(xi, balanced, deal):
    counts = label_counts(deal("skewness", balanced, 100, xi=xi), balanced.labels, 10)
    assert (np.sort(counts, axis=1)[:, -2:] == 300).all()
    assert (counts.sum(axis=1) == 600).all()
    if xi == "H_balanced":
        assert counts.sum(axis=0).tolist() == [6000] * 10
        for held in counts:
            first, second = np.flatnonzero(held)
            assert second - first in (1, 9)


@pytest.mark.parametrize("xi", [-0.1, 1.1, "h", None])
def test_skewness_refuses_other_degrees(xi):
    with pytest.raises(ValidationError):
        partitions.get("skewness").model_validate({"xi": xi})


@pytest.mark.parametrize(("labels", "variance"), [("equally", 0), ("independently", 9)])
def test_skewness_prefers_labels_equally_often_or_by_chance(labels, variance, balanced, deal):
    """Of 100 clients so many prefer a label as Binomial(100, 1/10) says, whose variance is 9."""
    preferred = []
    for seed in range(40):
        dealt = deal("skewness", balanced, 100, seed, xi=1, samples=2, labels=labels)
        counts = label_counts(dealt, balanced.labels, 10)
        assert (counts.max(axis=1) == 2).all()
        preferred.append((counts > 0).sum(axis=0))
    # 400 counts, ten of a seed adding up to 100: a standard error of about 9 * sqrt(2 / 360)
    assert np.var(preferred) == pytest.approx(variance, abs=4 * 0.68 if variance else 0)


def test_skewness_needs_every_class(deal, labelled):
    with pytest.raises(InputError, match="class 1"):
        deal("skewness", labelled([10, 0, 10]), 2)


# --- D.4 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["low", "high", "iid"])
def test_fedacs_environments_use_every_sample_of_a_class_equally_often(level, deal, labelled):
    cifar = labelled([5000] * 10)
    dealt = deal("dirichlet_skewness", cifar, 200, level=level)
    counts = label_counts(dealt, cifar.labels, 10)
    assert (counts.sum(axis=1) == 2000).all()
    used = np.bincount(np.concatenate(dealt), minlength=50_000)
    for label in range(10):  # inside a class every sample serves equally often, to within one
        of_class = used[cifar.labels == label]
        assert of_class.max() - of_class.min() <= 1
        if level == "iid":
            assert (of_class == 8).all()
    assert used.mean() == 8
    if level == "iid":
        assert (counts == 200).all()


def test_half_of_the_concentrations_lie_below_the_median():
    for level, median, top in (("low", 0.2, 3.0), ("high", 0.1, 5.0)):
        betas = DirichletSkewness(level=level).concentrations(200, np.random.default_rng(0))
        assert (betas <= median).sum() == 100
        assert (betas[1::2] <= median).all()
        assert betas.min() > 0
        assert betas.max() <= top


@pytest.mark.parametrize(
    ("beta", "largest"),
    [(0.05, 0.788), (0.1, 0.659), (0.2, 0.533), (1, 0.294), (3, 0.204), (5, 0.179)],
)
def test_share_of_the_largest_class(beta, largest):
    """docs/algorithms.md, D.4: within .01 over 4,000 draws."""
    environment = DirichletSkewness(median=beta - 1e-9, maximum=beta)
    above_the_median = environment.shares(8000, 10, np.random.default_rng(1))[::2]
    assert abs(above_the_median.max(axis=1).mean() - largest) < 0.01


def test_vanishing_concentrations_give_pure_clients(deal, labelled):
    source = labelled([100] * 10)
    dealt = deal("dirichlet_skewness", source, 200, median=1e-5, maximum=1e-5, samples=50)
    counts = label_counts(dealt, source.labels, 10)
    assert (counts.sum(axis=1) == 50).all()
    assert ((counts > 0).sum(axis=1) == 1).mean() > 0.99


@pytest.mark.parametrize("option", ["median", "maximum"])
def test_equal_shares_have_no_concentrations(option):
    with pytest.raises(ValidationError, match="leave out median and maximum"):
        DirichletSkewness(level="iid", **{option: 1.0})


def test_a_median_above_the_maximum_is_refused():
    with pytest.raises(ValidationError, match="must be at most maximum"):
        DirichletSkewness(median=4)


# --- sizes ---------------------------------------------------------------------------------------


def test_power_law_sizes(balanced, deal):
    dealt = deal("power_law", balanced, 1000, exponent=1.0, min_samples=0)
    sizes = np.sort([len(rows) for rows in dealt])[::-1]
    assert sorted(np.concatenate(dealt)) == list(range(60_000))
    ideal = 60_000 / np.arange(1, 1001) / (1 / np.arange(1, 1001)).sum()
    assert np.abs(sizes - ideal).max() < 1


def test_power_law_minimum_and_limits(balanced, deal):
    assert min(map(len, deal("power_law", balanced, 1000, exponent=2, min_samples=7))) == 7
    assert {len(rows) for rows in deal("power_law", balanced, 100, exponent=0)} == {600}
    with pytest.raises(InputError, match="min_samples"):
        deal("power_law", balanced, 1000, min_samples=61)


@pytest.mark.parametrize("name", PAPERS)
def test_a_single_class_can_be_dealt(name, deal):
    source = Source(np.zeros(2000, dtype=np.int64), 1)
    if name == "power_law_two_digits":
        with pytest.raises(InputError, match="multiple"):
            deal(name, source, 10)
    else:
        deal(name, source, 10)
