"""Hints at what was meant."""

import pytest

from simfl.errors import NameNotFound, nearest

LOSSES = ("binary_cross_entropy", "cross_entropy", "mean_squared_error")
KEYS = ("accuracy", "batch_size", "bytes", "clients", "rounds", "time")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("sync", ("fedasync", "fedbuff", "semi_synchronous", "synchronous"), "synchronous"),
        ("SGD", ("adam", "adamw", "sgd"), "sgd"),
        ("MLP", ("cnn", "mlp"), "mlp"),
        ("adam", ("Adam", "AdamW"), "Adam"),
        ("acc", KEYS, "accuracy"),
        ("mse", LOSSES, "mean_squared_error"),
        ("BCE", LOSSES, "binary_cross_entropy"),
        ("learning_rate", ("clip", "lr", "momentum"), "lr"),
        ("clients_per_round", KEYS, "clients"),
        ("batchsize", KEYS, "batch_size"),
        ("normall", ("norm", "normal"), "normal"),
        ("ort", ("afl", "oort"), "oort"),
        ("f1", ("accuracy", "loss", "macro_f1"), "macro_f1"),
    ],
)
def test_what_was_probably_meant(name: str, known: tuple[str, ...], meant: str) -> None:
    assert nearest(name, known) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize("name", ["", "b", "zzz", "_"])
def test_where_nothing_is_near_all_are_listed(name: str) -> None:
    assert nearest(name, KEYS) == f"; expected one of: {', '.join(KEYS)}"
    assert nearest(name, ()) == ""


@pytest.mark.parametrize("name", ["asynchronous", "Non-synchronous"])
def test_the_opposite_is_not_what_was_meant(name: str) -> None:
    known = ("fedasync", "synchronous")
    assert nearest(name, known) == "; expected one of: fedasync, synchronous"


def test_a_name_that_nobody_would_read_is_cut() -> None:
    assert len(str(NameNotFound("selector", "u" * 5000, ["oort"]))) < 200
