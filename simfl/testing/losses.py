"""The contract of every loss, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable, Iterator

import torch
from hypothesis import given

from simfl.components.data_targets import Targets
from simfl.components.losses.base import Loss
from simfl.testing.circumstances import circumstances
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract

CLASSES, SAMPLES = 2, 6


class LossContract(ComponentContract):
    """What holds for every loss; inherit and set `create`."""

    create: Callable[..., Loss]

    def batches(self, seed: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield outputs and targets of every sort that the loss takes."""
        chance, loss = torch.Generator().manual_seed(seed), self.create()
        assert loss.takes, "it takes no targets at all"
        for sort in loss.takes:
            width = loss.outputs(CLASSES, sort)
            yield (
                torch.randn(SAMPLES, width, generator=chance),
                _targets(sort, width, chance),
            )

    @RELAXED
    @given(seed=SEEDS)
    def test_a_finite_number_for_each_sample(self, seed: int) -> None:
        """`(n,)` in the outputs' floating type, of each sample's own outputs alone."""
        loss = self.create()
        for outputs, targets in self.batches(seed):
            for number in (torch.float32, torch.float64):
                rows = loss.rows(outputs.to(number), targets)
                assert rows.shape == (SAMPLES,), tuple(rows.shape)
                assert rows.dtype == number, f"outputs of {number} became losses of {rows.dtype}"
                assert torch.isfinite(rows).all(), rows
            alone = [loss.rows(outputs[i : i + 1], targets[i : i + 1]) for i in range(SAMPLES)]
            assert torch.allclose(loss.rows(outputs, targets), torch.cat(alone)), "rows mix"

    def test_lanes(self) -> None:
        """For clients side by side it is the loss of each."""
        loss = self.create()
        for outputs, targets in self.batches(0):
            one_by_one = loss.rows(outputs, targets)
            twice = torch.stack([outputs, outputs]), torch.stack([targets, targets])
            rows = loss.rows(*twice)
            assert rows.shape == (2, SAMPLES), tuple(rows.shape)
            assert torch.allclose(rows, one_by_one.expand(2, -1))

    def test_down_the_gradient_it_falls(self) -> None:
        """PyTorch differentiates it, and a small step lowers it."""
        loss = self.create()
        for outputs, targets in self.batches(1):
            outputs.requires_grad_()
            before = loss.rows(outputs, targets).mean()
            [gradient] = torch.autograd.grad(before, outputs)
            assert torch.isfinite(gradient).all(), gradient
            assert gradient.any(), "the gradient is 0"
            with torch.no_grad():
                assert loss.rows(outputs - 1e-2 * gradient, targets).mean() < before

    def test_answers_are_right_or_wrong(self) -> None:
        """`hits` is between 0 and 1 for each sample, or there are none for any."""
        loss = self.create()
        for outputs, targets in self.batches(2):
            hits = loss.hits(outputs, targets)
            assert (hits is not None) == loss.has_accuracy
            if hits is not None:
                assert hits.shape == (SAMPLES,), tuple(hits.shape)
                assert ((hits >= 0) & (hits <= 1)).all(), hits

    def test_it_objects_to_targets_of_other_sorts(self) -> None:
        """And to nothing else in two classes of pictures that need no accuracy."""
        loss = self.create()
        for sort in ("classes", "labels", "numbers"):
            facts = circumstances(targets=sort, input_of=lambda: ((1, 28, 28), CLASSES))
            assert bool(list(loss.objections(facts))) == (sort not in loss.takes), sort


def _targets(sort: Targets, width: int, chance: torch.Generator) -> torch.Tensor:
    if sort == "classes":
        return torch.randint(0, CLASSES, (SAMPLES,), generator=chance)
    numbers = torch.randn(SAMPLES, width, generator=chance)
    return numbers if sort == "numbers" else (numbers > 0).float()
