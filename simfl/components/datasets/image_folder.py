"""Folders of pictures, a folder per class, as `torchvision.datasets.ImageFolder` takes them."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import Field, field_validator
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.base import Images
from simfl.components.datasets.own.base import OwnDataset
from simfl.components.datasets.own.pixels import Mode, pixels
from simfl.components.datasets.own.rows import Rows
from simfl.errors import InputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
PARTS = ("train", "training", "test", "testing", "val", "valid", "validation", "dev")
"""What folders are called that hold parts of a data set, and are no classes."""


@datasets.register("image_folder")
class ImageFolder(OwnDataset):
    """Your own pictures: ``PATH/CLASS/*.png``, or ``PATH/train/CLASS`` and ``PATH/test/CLASS``.

    Pixels are in [0, 1].  Pictures are files in .png, .jpg, .jpeg, .bmp, .ppm, .pgm, .tif, .tiff or
    .webp; others, and hidden ones (``.name``), are left out.
    """

    path: str = Field(description="folder, beside the scenario", examples=["images"])
    size: int = Field(
        32, ge=1, description="side length in pixels to which all pictures are scaled"
    )
    mode: Mode = Field("colour", description="one colour channel or three")
    client: str | None = Field(
        None,
        description=r"regular expression whose first group, in ``CLASS/FILE``, names the client of "
        r"a picture, such as `/(\w+)_\d+`",
    )

    @field_validator("client")
    @classmethod
    def _expression(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                groups = re.compile(value).groups
            except re.error as error:
                raise ValueError(f"is no regular expression: {error}") from None
            if not groups:
                raise ValueError("needs a group in parentheses: whose picture it is")
        return value

    @override
    def source(self) -> Path:
        return self._root / self.path

    @property
    @override
    def seen_from_outside(self) -> tuple[int, ...]:
        """When a picture last came into the folder of a class, or left it, too."""
        top = self.source()
        tops = [top, *(top / part for part in ("train", "test"))]
        below = sorted(path for folder in tops for path in folder.glob("*") if path.is_dir())
        return *super().seen_from_outside, *(path.stat().st_mtime_ns for path in below)

    @override
    def rows(self) -> Rows:
        top = self.source()
        split = (top / "train").is_dir() and (top / "test").is_dir()
        parts = [top / "train", top / "test"] if split else [top]
        files = [(part, file) for part in parts for file in _pictures(part)]
        if not files:
            raise InputError(f"{top} has no pictures ({', '.join(SUFFIXES)}) in folders of classes")
        names = [file.relative_to(part).as_posix() for part, file in files]
        folders = sorted({name.partition("/")[0] for name in names})
        if all(folder.lower() in PARTS for folder in folders):
            raise InputError(
                f"{top} has folders {', '.join(folders)}: parts, which hold folders of classes, "
                "are called `train` and `test`, and both must be there; of one part give the path"
            )
        return Rows(
            np.stack([self._pixels(file) for _, file in files]),
            np.array([name.partition("/")[0] for name in names]),
            None if self.client is None else np.array([self._whose(name) for name in names]),
            np.array([part.name == "test" for part, _ in files]) if split else None,
        )

    def _pixels(self, file: Path) -> Images:
        """Return `(channels, size, size)`."""
        from PIL import Image

        try:
            with Image.open(file) as picture:
                return pixels(picture, self.mode, self.size)
        except OSError as error:
            raise InputError(f"{file} is no picture: {error}") from None
        except InputError as error:
            raise InputError(f"{file}: {error}") from None

    def _whose(self, name: str) -> str:
        assert self.client is not None
        match = re.search(self.client, name)
        if match is None:
            raise InputError(f"{self.source()}: `client` {self.client!r} does not fit {name!r}")
        return str(match.group(1))


def _pictures(folder: Path) -> Iterator[Path]:
    """Yield the pictures in folders of classes, in order of their names."""
    for file in sorted(folder.glob("*/**/*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if not hidden and file.suffix.lower() in SUFFIXES:
            yield file
