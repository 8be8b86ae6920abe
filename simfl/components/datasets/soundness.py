"""What every data set must hold, whoever made it."""

from collections.abc import Sequence

import numpy as np

from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples
from simfl.core.returned import expect
from simfl.errors import InputError


def require_sound(dataset: Dataset, corpus: Corpus) -> None:
    """Check `corpus`, which `dataset` loaded.

    Raises:
        InputError: there are no training samples, or samples that nothing could be learned from.
        Unexpected: samples are no arrays of numbers, labels no whole ones, natural clients no rows.
    """
    name = f"data set {dataset.name!r}"
    for part, samples in (("training", corpus.train), ("test", corpus.test)):
        got = type(samples).__name__
        expect(isinstance(samples, Samples), f"{part} samples, as `Samples(x, y)`", got)
    if not len(corpus.train):
        raise InputError(f"{name} has no training samples")
    told = dataset.shape()
    many = "of classes" if dataset.targets == "classes" else f"of {dataset.targets} of each sample"
    expected = f"the shape of an input and the number {many}, such as ((28, 28), 10)"
    expect(isinstance(told, tuple) and len(told) == 2 and np.iterable(told[0]), expected, told)
    shape, classes = told
    if corpus.classes != classes:
        of_each = "" if dataset.targets == "classes" else " of each sample"
        raise InputError(
            f"{name} says that it has {classes} {dataset.targets}{of_each}, but its Corpus "
            f"{corpus.classes}"
        )
    natural = corpus.natural
    each = "the rows of each client of its own, an array each"
    expect(natural is None or isinstance(natural, Sequence), each, natural)
    names = corpus.natural_names
    named = names is None or (isinstance(names, np.ndarray) and len(names) == len(natural or ()))
    expect(named, "an array of the name of each client of its own", names)
    for part, samples in (("training", corpus.train), ("test", corpus.test)):
        _check_part(part, samples, dataset, tuple(shape), classes)


def _check_part(
    part: str, samples: Samples, dataset: Dataset, shape: tuple[int, ...], classes: int
) -> None:
    """Check the training or the test samples of a `dataset`, whose inputs have some `shape`."""
    name = f"data set {dataset.name!r}"
    _expect_arrays(part, samples, dataset)
    if len(samples.x) != len(samples.y):
        raise InputError(
            f"{name} has {len(samples.x)} {part} samples, but {len(samples.y)} labels of them"
        )
    if samples.x.shape[1:] != shape:
        raise InputError(
            f"{name} says that inputs have shape {shape}, but its {part} samples have "
            f"{samples.x.shape[1:]}"
        )
    if dataset.targets != "classes" and samples.y.size != len(samples.x) * classes:
        raise InputError(
            f"{name} says that it has {classes} {dataset.targets} of each sample, but its "
            f"{part} samples' targets have shape {samples.y.shape}"
        )
    if len(samples):
        _check_values(f"{name}: {part} samples", samples, dataset, classes)


def _expect_arrays(part: str, samples: Samples, dataset: Dataset) -> None:
    labelled = dataset.targets == "classes"
    targets = "labels, `(n,)` whole numbers" if labelled else "targets, an array of numbers"
    for values, kinds, what, axes in (
        (samples.x, "biuf", "inputs, an array of numbers", None),
        (samples.y, "biu" if labelled else "biuf", targets, 1 if labelled else None),
    ):
        array = isinstance(values, np.ndarray)
        got = f"{values.dtype} of shape {values.shape}" if array else type(values).__name__
        fits = array and values.dtype.kind in kinds and axes in (None, values.ndim)
        expect(fits, f"{part} samples' {what}", got)


def _check_values(what: str, samples: Samples, dataset: Dataset, classes: int) -> None:
    # One pass, and no copy: NaN and infinity survive a sum, which can't overflow in float64.
    for values in (samples.x, samples.y):
        with np.errstate(invalid="ignore"):  # both infinities
            sound = values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64))
        if not sound:
            raise InputError(f"{what} hold NaN or infinity")
    if dataset.targets != "classes":
        return
    low, high = int(samples.y.min()), int(samples.y.max())
    if low < 0 or high >= classes:
        odd = low if low < 0 else high
        raise InputError(f"{what} have a label {odd}, but labels are 0 to {classes - 1}")
