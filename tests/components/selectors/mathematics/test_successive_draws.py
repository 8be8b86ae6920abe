"""Successive sampling: whoever is drawn first does not depend on how many are drawn."""

import numpy as np

from simfl.components.selectors.mathematics.draws import among_least, log_shares, successive


def test_who_comes_first_is_the_same_however_many_are_drawn() -> None:
    samples = np.array([3, 0, 1, 0, 7, 0, 0, 2, 9, 0])  # those without are tied
    everybody = successive(log_shares(samples), len(samples), np.random.default_rng(5))
    assert sorted(everybody) == list(range(len(samples)))
    assert (samples[everybody[:5]] > 0).all()
    for k in range(len(samples) + 2):
        some = successive(log_shares(samples), k, np.random.default_rng(5))
        assert some.tolist() == everybody[:k].tolist()


def test_the_least_of_many_are_among_few_with_ties_and_unknown_ones() -> None:
    values = np.array([5.0, 1, np.nan, 1, np.inf, 1, 2, np.nan, 0])
    in_order = np.argsort(values, kind="stable")
    for k in range(len(values) + 2):
        few = among_least(values, k)
        assert few[np.argsort(values[few], kind="stable")[:k]].tolist() == in_order[:k].tolist()
    assert among_least(values, 2).tolist() == [1, 2, 3, 5, 7, 8]  # whatever the unknown ones are
