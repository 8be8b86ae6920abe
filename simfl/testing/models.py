"""The contract of every model, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
import torch

from simfl.components.models.base import Model
from simfl.core.work import OrderBatch, Plan
from simfl.errors import InputError
from simfl.testing.contract import ComponentContract
from simfl.testing.learning import equal, orders, random_inputs, random_task
from simfl.training.batch_norm import has_batch_norm
from simfl.training.executors.inline import Inline
from simfl.training.flat import Layout, build, initial_params

Shape = tuple[int, ...]


class ModelContract(ComponentContract):
    """What holds for every model; inherit and set `create`."""

    create: Callable[..., Model]
    shapes: ClassVar[tuple[Shape, ...]] = ((12,), (1, 28, 28), (3, 32, 32))
    """Inputs of which it takes some, and refuses the others with an `InputError`."""
    classes: ClassVar[int] = 10

    def taken(self) -> Iterator[Shape]:
        """Yield the shapes that the model takes."""
        count = 0
        for shape in self.shapes:
            try:
                build(self.create(), shape, self.classes)
            except InputError:
                continue
            count += 1
            yield shape
        assert count, f"it takes none of {self.shapes}"

    def test_logits(self) -> None:
        """`(n, classes)`, finite, each row of its own input alone (but for batch norm)."""
        for shape in self.taken():
            module = build(self.create(), shape, self.classes).eval()
            x = random_inputs(self.create(), shape, self.classes, 4)
            with torch.no_grad():
                logits = module(x)
                alone = torch.cat([module(x[i : i + 1]) for i in range(4)])
            assert logits.shape == (4, self.classes), tuple(logits.shape)
            assert torch.isfinite(logits).all(), logits
            alike = has_batch_norm(module) or torch.allclose(logits, alone, rtol=1e-4, atol=1e-5)
            assert alike, "rows depend on each other"

    def test_the_flat_vector_is_the_whole_model(self) -> None:
        """No buffers, something to train, float32; drawn from PyTorch's generator alone."""
        for shape in self.taken():
            layout = Layout.of(build(self.create(), shape, self.classes))
            assert layout.size > 0
            one, other, third = (
                initial_params(self.create(), shape, self.classes, seed) for seed in (1, 1, 2)
            )
            assert np.array_equal(one, other), "built again it starts elsewhere"
            assert not np.array_equal(one, third), "every seed gives the same start"

    def test_it_learns(self) -> None:
        """A step down the gradient lowers the loss on the batch."""
        for shape in self.taken():
            module = build(self.create(), shape, self.classes, seed=1).eval()
            x = random_inputs(self.create(), shape, self.classes, 8)
            y = torch.arange(8) % self.classes
            loss = torch.nn.functional.cross_entropy(module(x), y)
            loss.backward()  # type: ignore[no-untyped-call]
            steps = [p.grad for p in module.parameters() if p.grad is not None]
            assert all(torch.isfinite(step).all() for step in steps), "a gradient is not finite"
            scale = 1e-3 / max(float(torch.cat([s.flatten() for s in steps]).norm()), 1e-9)
            with torch.no_grad():
                for parameter in module.parameters():
                    if parameter.grad is not None:
                        parameter.sub_(scale * parameter.grad)
                assert torch.nn.functional.cross_entropy(module(x), y) < loss, "it learns nothing"

    def test_company_changes_no_bit(self) -> None:
        """A client that trains alone ends with the bits it has among others."""
        for shape in self.taken():
            task = random_task(self.create(), shape, self.classes, (9, 4, 1))
            bases = {0: initial_params(task.model, shape, self.classes, seed=1)}
            asked, inline = orders(3, [Plan(steps=2), Plan(full_epochs=1)]), Inline()
            inline.start(task)
            batch = OrderBatch(bases, asked)
            alone = [inline.train(batch.part([at]))[0] for at in range(len(asked))]
            equal(inline.train(batch), alone)
            inline.close()
