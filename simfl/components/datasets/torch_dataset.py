"""A `torch.utils.data.Dataset` of the user's."""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.own.base import OwnDataset
from simfl.components.datasets.own.rows import Rows, known
from simfl.components.datasets.seeded_libraries import seeded_libraries
from simfl.core.code import NotImported, beside, file_of, message_with_line, named_class
from simfl.errors import InputError


@datasets.register("torch")
class TorchDataset(OwnDataset):
    """Your own `torch.utils.data.Dataset` of pairs of an input and a label.

    Named as ``path.py:name``: an object, or a class or a function that makes one of `arguments`.
    It is read once; what it draws at random (a transform) is drawn then, the same in every run.
    """

    dataset: str = Field(description="for training: path.py:name", examples=["mine.py:train"])
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="of the class or function that makes it"
    )
    test_dataset: str | None = Field(None, description="for testing: path.py:name")
    test_arguments: dict[str, Any] = Field(
        default_factory=dict, description="of the class or function that makes it"
    )
    client: str | None = Field(
        None, description="attribute of the data set with the client of each sample, (n,)"
    )

    def _object(self, name: str) -> Any:
        try:
            with beside(self._root):
                return named_class(name)
        except NotImported as error:
            raise InputError(f"{name!r} {error}") from None
        except Exception as error:
            raise InputError(f"{name!r} can't be imported: {error}") from error

    @override
    def source(self) -> Path:
        return file_of(self._object(self.dataset)) or self._root

    @override
    def rows(self) -> Rows:
        with seeded_libraries():  # a random transform, say, gives the same data to every run
            return self._rows()

    def _rows(self) -> Rows:
        train = self._instantiated(self.dataset, self.arguments)
        x, label = self._pairs(self.dataset, train)
        client = None
        if self.client is not None:
            public = [name for name in dir(train) if not name.startswith("_")]
            known(self.client, public, "attribute", f"data set {self.dataset!r}")
            client = np.asarray(getattr(train, self.client))
            if client.shape != label.shape[:1]:
                raise InputError(
                    f"attribute {self.client!r} of data set {self.dataset!r} has shape "
                    f"{client.shape}, expected {label.shape[:1]}"
                )
        rows = Rows(x, label, client)
        if self.test_dataset is None:
            return rows
        test = self._instantiated(self.test_dataset, self.test_arguments)
        return rows.with_test(*self._pairs(self.test_dataset, test))

    def _instantiated(self, name: str, arguments: dict[str, Any]) -> Any:
        maker = self._object(name)
        if hasattr(maker, "__getitem__") and not isinstance(maker, type):
            return maker
        if not callable(maker):
            raise InputError(f"{name!r} is a {type(maker).__name__}, no torch.utils.data.Dataset")
        try:
            return maker(**arguments)
        except Exception as error:
            what = f"{type(error).__name__}: {message_with_line(error)}"
            raise InputError(f"making {name!r}: {what}") from error

    def _pairs(self, name: str, made: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs `(n, ...)` and labels `(n,)`."""
        if not (hasattr(made, "__len__") and hasattr(made, "__getitem__")):
            raise InputError(f"{name!r} is a {type(made).__name__}, no torch.utils.data.Dataset")
        inputs, labels = [], []
        for row in range(len(made)):
            pair, where = _sample(name, made, row), f"{name!r}: sample {row}"
            try:
                if getattr(pair, "ndim", 0):  # whose first two numbers would be taken for a pair
                    raise TypeError("it is an input alone")
                inputs.append(np.asarray(pair[0], dtype=np.float32))
                labels.append(np.asarray(pair[1]))
            except Exception as error:
                raise InputError(
                    f"{where}, a {type(pair).__name__}, is no pair of an input (numbers) and a "
                    f"label: {type(error).__name__}: {error}"
                ) from error
            for what, arrays in (("an input", inputs), ("a label", labels)):
                if arrays[row].shape != arrays[0].shape:
                    raise InputError(
                        f"{where} has {what} of shape {arrays[row].shape}, sample 0 one of "
                        f"{arrays[0].shape}; pad or cut them to one shape"
                    )
        return np.array(inputs), np.array(labels)


def _sample(name: str, made: Any, row: int) -> Any:
    try:
        return made[row]
    except Exception as error:
        what = f"{type(error).__name__}: {message_with_line(error)}"
        raise InputError(f"{name!r}: sample {row}: {what}") from error
