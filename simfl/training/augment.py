"""Random crops and flips of the images that a client trains on.

As FedACS's code does on CIFAR-10 (docs/algorithms.md, 0.8): torchvision's ``RandomCrop(size,
padding)`` and ``RandomHorizontalFlip``, drawn anew for each sample of each epoch.  The code crops
before it normalises, so the border is black; here images are normalised once, black is a number.
"""

import numpy as np
import torch

from simfl.components.local_training import Augmentation
from simfl.core.seeds import generator
from simfl.training.gpu import on_device
from simfl.training.segments import Segment


class Augmenter:
    """What happens to each sample of one segment; all drawn from the order's own stream.

    Args:
        how: the paddings and whether images are mirrored.
        segment: whose samples.

    Attributes:
        border: `(channels)` or `(1,)` what images are padded with.
        shifts: `(2, r)` how far down and right in the padded image each row's window begins.
        flips: `(r,)` whether it is mirrored.
    """

    def __init__(self, how: Augmentation, segment: Segment) -> None:
        rng = generator(segment.seed, segment.augmentation)
        n = len(segment.rows)
        self._padding = how.crop
        self.border = np.array(how.border or (0.0,), dtype=np.float32)
        self.shifts = rng.integers(0, 2 * how.crop, (2, n), endpoint=True)
        self.flips = (rng.random(n) < 0.5) & how.flip
        self._there: tuple[torch.Tensor, ...] | None = None

    def __call__(self, images: torch.Tensor, first: int) -> torch.Tensor:
        """Return the images `(b, c, h, w)` of the segment's samples from `first` on, changed."""
        b, _, height, width = images.shape
        part, device = slice(first, first + b), images.device
        shifts, flips, border = self._drawn(device)
        down, right = shifts[:, part, None]
        flips = flips[part, None]
        columns = torch.arange(width, device=device).expand(b, width)
        columns = torch.where(flips, columns.flip(1), columns)
        rows = torch.arange(height, device=device) + down
        padded = self._padded(images, border)
        sample = torch.arange(b, device=device)[:, None, None]
        moved = padded[sample, :, rows[:, :, None], (columns + right)[:, None, :]]
        return moved.permute(0, 3, 1, 2)

    def _drawn(self, device: torch.device) -> tuple[torch.Tensor, ...]:
        """Return `shifts`, `flips` and `border` on the images' device: sent once, and all of it."""
        if self._there is None:
            drawn = self.shifts, self.flips, self.border
            self._there = tuple(on_device(numbers, device) for numbers in drawn)
        return self._there

    def _padded(self, images: torch.Tensor, border: torch.Tensor) -> torch.Tensor:
        b, channels, height, width = images.shape
        pad = self._padding
        padded = images.new_empty(b, channels, height + 2 * pad, width + 2 * pad)
        padded[:] = border.to(images.dtype)[:, None, None]
        padded[:, :, pad : pad + height, pad : pad + width] = images
        return padded
