"""Random crops and flips of images, against slicing by hand."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from simfl.components.local_training import Augmentation, LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import Purpose
from simfl.errors import ScenarioError
from simfl.scenario import Scenario
from simfl.training.augment import Augmenter
from simfl.training.flat import build, load
from simfl.training.segments import Segment
from tests.training.learning_stubs import (
    Perceptron,
    full_segment,
    initial,
    make_orders,
    make_task,
    train,
)

PADDING = 2


def segment(n: int, seed: int = 5) -> Segment:
    rows = np.arange(n)
    return Segment(
        rows, np.array([n]), np.ones(1), None, seed, Purpose.DROPOUT, Purpose.AUGMENTATION
    )


def by_hand(image: torch.Tensor, down: int, right: int, flip: bool) -> torch.Tensor:
    channels, height, width = image.shape
    padded = torch.zeros(channels, height + 2 * PADDING, width + 2 * PADDING)
    padded[:, PADDING:-PADDING, PADDING:-PADDING] = image
    cut = padded[:, down : down + height, right : right + width]
    return cut.flip(2) if flip else cut


def test_every_image_is_a_crop_of_itself_or_of_its_mirror_image() -> None:
    images = torch.randn(40, 3, 7, 6, generator=torch.Generator().manual_seed(0))
    changed = Augmenter(Augmentation(PADDING, flip=True), segment(40))(images, 0)
    seen = set()
    for image, result in zip(images, changed, strict=True):
        found = [
            (down, right, flip)
            for down in range(2 * PADDING + 1)
            for right in range(2 * PADDING + 1)
            for flip in (False, True)
            if torch.equal(by_hand(image, down, right, flip), result)
        ]
        assert len(found) == 1
        seen.add(found[0])
    assert {flip for *_, flip in seen} == {False, True}
    assert {down for down, *_ in seen} == set(range(2 * PADDING + 1))


def test_crops_and_flips_are_uniform() -> None:
    n = 20_000
    marks = torch.zeros(n, 1, 5, 5)
    marks[:, :, 2, 1] = 1.0
    changed = Augmenter(Augmentation(1, flip=True), segment(n))(marks, 0).mean((0, 1))
    # One pixel of 25, moved by -1, 0 or 1 either way, in half of the cases from its mirror image.
    columns = torch.tensor([1 / 6, 1 / 6, 2 / 6, 1 / 6, 1 / 6])
    expected = torch.tensor([0, 1 / 3, 1 / 3, 1 / 3, 0])[:, None] * columns
    sigma = (expected * (1 - expected) / n).sqrt()
    assert bool(((changed - expected).abs() <= 4.5 * sigma).all())


def test_batches_are_parts_of_the_whole_segment_and_seeds_differ() -> None:
    images = torch.randn(30, 1, 6, 6, generator=torch.Generator().manual_seed(1))
    how = Augmentation(PADDING, flip=True)
    augment = Augmenter(how, segment(30))
    whole = augment(images, 0)
    parts = [augment(images[i : i + 8], i) for i in range(0, 30, 8)]
    assert torch.equal(torch.cat(parts), whole)
    assert not torch.equal(Augmenter(how, segment(30, seed=6))(images, 0), whole)


def test_what_is_padded_is_what_it_was_told() -> None:
    """Cropping and then normalising is the same as cropping with a black border afterwards."""
    pixels = torch.rand(30, 3, 5, 6, generator=torch.Generator().manual_seed(3)) + 0.5
    mean, deviation = torch.tensor([[0.49, 0.48, 0.44], [0.2, 0.25, 0.3]])[:, :, None, None]
    black = tuple((-mean / deviation).flatten().tolist())
    before = Augmenter(Augmentation(PADDING, flip=True), segment(30))(pixels, 0)
    after = Augmenter(Augmentation(PADDING, True, black), segment(30))
    torch.testing.assert_close(after((pixels - mean) / deviation, 0), (before - mean) / deviation)
    assert bool((before == 0).any())


def test_nothing_to_do_changes_nothing() -> None:
    images = torch.randn(9, 2, 4, 4, generator=torch.Generator().manual_seed(2))
    assert torch.equal(Augmenter(Augmentation(), segment(9))(images, 0), images)


def test_clients_train_on_the_changed_images() -> None:
    how = Augmentation(1, flip=True)
    training = LocalTraining(8, Sgd(lr=0.1), augmentation=how)
    task = make_task(Perceptron(), [20, 9], (2, 5, 5), training=training)
    orders, base = make_orders([20, 9]), initial(task)
    for order, result in zip(orders, train(task, {0: base}, orders), strict=True):
        lane = full_segment(order, task.data.training([order.client]).rows[0], training)
        augment, module = Augmenter(how, lane), build(task.model, task.shape, task.classes)
        load(module, base)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        first = 0
        for size in lane.sizes.tolist():
            rows = lane.rows[first : first + size]
            optimizer.zero_grad()
            loss = F.cross_entropy(module(augment(task.data.x[rows], first)), task.data.y[rows])
            loss.backward()
            optimizer.step()
            first += size
        expected = torch.cat([p.detach().flatten() for p in module.parameters()]).numpy()
        np.testing.assert_allclose(result.params, expected, rtol=1e-5, atol=1e-6)


def test_a_crop_needs_a_border_of_one_colour() -> None:
    scenario = {
        "data": {"dataset": {"name": "cifar10", "normalise": "per_pixel"}},
        "model": "cnn",
        "fleet": {"count": 3},
        "training": {"augmentation": {"crop": 4}},
    }
    with pytest.raises(ScenarioError, match="crop: images are normalised pixel by pixel"):
        Scenario.from_dict(scenario)


@pytest.mark.parametrize("crop", [4, 2**63])
def test_a_crop_holds_something_of_the_image(crop: int) -> None:
    scenario = {
        "data": {"dataset": {"name": "synthetic_images", "size": 4}},
        "model": "logistic_regression",
        "fleet": {"count": 3},
        "training": {"augmentation": {"crop": crop}},
    }
    with pytest.raises(ScenarioError, match=f"crop: must be below 4, .* but got {crop}"):
        Scenario.from_dict(scenario)


def test_it_needs_images() -> None:
    scenario = {
        "data": {"dataset": "synthetic"},
        "model": "logistic_regression",
        "fleet": {"count": 3},
        "training": {"augmentation": {"flip": True}},
    }
    with pytest.raises(ScenarioError, match="augmentation: data set 'synthetic' has no images"):
        Scenario.from_dict(scenario)
