"""Random streams: the numbers of a Philox, each for itself."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.core.seeds import Seeds, generator

WORDS = st.integers(0, 2**64 - 1)


def reference(seed: int, purpose: int) -> np.random.Generator:
    """As NumPy makes it."""
    key = np.array([seed, purpose], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


@given(seed=WORDS, purpose=WORDS, n=st.integers(1, 9))
def test_a_generator_is_philox_with_the_seed_and_the_purpose_as_its_key(
    seed: int, purpose: int, n: int
) -> None:
    ours, numpys = generator(seed, purpose), reference(seed, purpose)
    for draw in ("random", "standard_normal", "standard_exponential"):
        assert getattr(ours, draw)(n).tolist() == getattr(numpys, draw)(n).tolist()
    assert ours.integers(7, size=n).tolist() == numpys.integers(7, size=n).tolist()
    assert ours.permutation(n).tolist() == numpys.permutation(n).tolist()


@given(seeds=st.lists(WORDS, min_size=2, max_size=5), turns=st.lists(st.integers(0, 4)))
def test_generators_that_live_side_by_side_do_not_disturb_each_other(
    seeds: list[int], turns: list[int]
) -> None:
    ours = [generator(seed) for seed in seeds]
    numpys = [reference(seed, 0) for seed in seeds]
    for turn in turns:
        i = turn % len(seeds)
        assert ours[i].integers(2**16, dtype=np.uint16) == numpys[i].integers(
            2**16, dtype=np.uint16
        )


def test_a_generator_can_be_sent_and_goes_on_from_where_it_was() -> None:
    rng = generator(5)
    rng.random(3)
    copy = pickle.loads(pickle.dumps(rng))
    assert copy.random(9).tolist() == rng.random(9).tolist()


def test_a_stream_is_the_generator_of_its_address() -> None:
    seeds = Seeds(3)
    drawn = seeds.stream("selection", 5).random(4)
    assert drawn.tolist() == generator(seeds.number("selection", 5)).random(4).tolist()
    assert drawn.tolist() != seeds.stream("selection", "5").random(4).tolist()


@given(
    ids=st.lists(st.integers(0, 2**62), min_size=1, max_size=9),
    counter=st.integers(-(2**62), 2**62),
    root=WORDS,
)
def test_uniform_numbers_of_few_are_those_of_many(ids: list[int], counter: int, root: int) -> None:
    """Few are computed one by one."""
    seeds, few = Seeds(root), np.array(ids, dtype=np.int64)
    counters, others = counter + few // 2, np.arange(50)
    many, beside = np.append(few, others), np.append(counters, others)
    for some, all_ in ((counters, beside), (counter, counter)):
        expected = seeds.uniforms(("a", 1), many, all_)[: len(few)]
        assert seeds.uniforms(("a", 1), few, some).tolist() == expected.tolist()
