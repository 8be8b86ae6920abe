"""Random crops and flips of the images that a client trains on.

As FedACS's code does on CIFAR-10 (docs/algorithms.md, 0.8): torchvision's ``RandomCrop(size,
padding)`` and ``RandomHorizontalFlip``, drawn anew for each sample of each epoch.  What is padded
has the value 0 of normalised images.
"""

import torch
from torch.nn import functional as F

from simfl.components.local_training import Augmentation
from simfl.training.passes import Segment, stream


class Augmenter:
    """What happens to each sample of one segment; all drawn from the order's own stream.

    Args:
        how: the paddings and whether images are mirrored.
        segment: whose samples.
    """

    def __init__(self, how: Augmentation, segment: Segment) -> None:
        rng = stream(segment.seed, segment.augmentation)
        n = len(segment.rows)
        self._padding = how.crop
        self._shifts = torch.from_numpy(rng.integers(0, 2 * how.crop, (2, n), endpoint=True))
        self._flips = torch.from_numpy((rng.random(n) < 0.5) & how.flip)

    def __call__(self, images: torch.Tensor, first: int) -> torch.Tensor:
        """Return the images `(b, c, h, w)` of the segment's samples from `first` on, changed."""
        b, _, height, width = images.shape
        some = slice(first, first + b)
        down, right = self._shifts[:, some, None].to(images.device)
        columns = torch.arange(width, device=images.device).expand(b, width)
        columns = torch.where(self._flips[some, None].to(images.device), columns.flip(1), columns)
        rows = torch.arange(height, device=images.device) + down
        padded = F.pad(images, [self._padding] * 4)
        sample = torch.arange(b, device=images.device)[:, None, None]
        moved = padded[sample, :, rows[:, :, None], (columns + right)[:, None, :]]
        return moved.permute(0, 3, 1, 2)
