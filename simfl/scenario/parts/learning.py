"""What is learned: the data, how clients train, how the result is judged."""

from keyword import iskeyword
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from simfl.components.compressors.base import Compressor, compressors
from simfl.components.datasets.base import Dataset, datasets
from simfl.components.filters.base import UpdateFilter, filters
from simfl.components.local_training import Augmentation, LocalTraining
from simfl.components.losses.base import Loss, losses
from simfl.components.metrics.base import QualityMetric, quality_metrics
from simfl.components.optimizers.base import Optimizer, optimizers
from simfl.components.partitions.base import Partition, partitions
from simfl.components.schedules.base import Schedule, schedules
from simfl.components.workloads.base import Workload, workloads
from simfl.core.rows import PrivateRoundRow, header
from simfl.core.target import Target
from simfl.core.units import Percent
from simfl.scenario.parts.part import WORKED_OUT, Count, Part


class Data(Part):
    """Which samples there are and who holds them."""

    dataset: Annotated[Dataset, datasets] = Field(description="what is learned")
    partition: Annotated[Partition, partitions, WORKED_OUT] = Field(
        description="who holds which samples; omitted: the data set's own clients, else iid"
    )
    local_validation: Percent = Field(
        0.0,
        lt=1,
        description="share of each client's samples, drawn at random, that it never trains on: for "
        "its loss, `evaluation.on: clients` and `simfl evaluate`",
    )
    test_share: Percent = Field(
        0.1,
        lt=1,
        description="share of each client's samples kept for testing, where the partition pools "
        "the training and test sets",
    )

    @property
    def own_clients(self) -> int | None:
        """How many clients the data set itself has, if they are dealt and it is known beforehand.

        Raises:
            InputError: the data set's files, which tell, can't be read.
        """
        return self.dataset.natural_known if self.partition.deals_natural else None

    @model_validator(mode="before")
    @classmethod
    def _own_clients(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("partition") is not None:
            return value
        try:
            dataset = datasets.parse(value.get("dataset"))
        except ValueError:
            # Told of the data set itself; who holds it can wait.
            return {**value, "partition": "iid"}
        natural = getattr(dataset, "natural_clients", False)
        return {**value, "partition": "natural" if natural else "iid"}


class Augment(Part):
    """How images are changed, anew each time a client trains on them."""

    crop: int = Field(0, ge=0, description="pixels of padding before an image is cut out again")
    flip: bool = Field(False, description="mirror every other image, at random")

    def of_images(self, border: tuple[float, ...] = ()) -> Augmentation | None:
        """Return what executors need of this; None: nothing is changed.

        Args:
            border: what images are padded with, per channel; (): 0.
        """
        return Augmentation(self.crop, self.flip, border) if self.crop or self.flip else None


class Training(Part):
    """What a client does in one participation."""

    epochs: Count | None = Field(
        None, description="local passes over the client's data (1 unless `steps` is given)"
    )
    steps: Count | None = Field(None, description="mini-batches, instead of epochs")
    personal_epochs: Count | None = Field(
        None,
        description="the first of the `epochs` train the personal parameters (`model.personal`) "
        "alone, the others the shared ones (FedRep, FedAlt); omitted: all train both",
    )
    batch_size: Count = Field(32, description="samples; a short last batch is kept")
    shuffle: bool = Field(
        True,
        description="draw new mini-batches in each epoch; false: the same in all epochs and "
        "rounds, in the order in which a client holds its samples, so fewer `steps` "
        "than one pass see only the first samples (a coreset's mini-batches are "
        "always drawn anew)",
    )
    optimizer: Annotated[Optimizer, optimizers] = Field(
        default_factory=optimizers.make, description="how a client applies a gradient"
    )
    lr_schedule: Annotated[Schedule, schedules] = Field(
        default_factory=schedules.make, description="how the learning rate changes over rounds"
    )
    loss: Annotated[Loss, losses] = Field(
        default_factory=losses.make, description="what a client minimises"
    )
    workload: Annotated[Workload, workloads] = Field(
        default_factory=workloads.make, description="what a client does when it is short of time"
    )
    proximal: float = Field(
        0.0, ge=0, le=1e38, description="FedProx's mu, and FedDyn's alpha (0: none)"
    )
    compression: Annotated[Compressor, compressors] = Field(
        default_factory=compressors.make, description="compression of the uploaded updates"
    )
    filter: Annotated[UpdateFilter, filters] = Field(
        default_factory=filters.make, description="which updates count"
    )
    augmentation: Augment = Field(
        default_factory=Augment, description="random crops and flips of images"
    )

    @model_validator(mode="before")
    @classmethod
    def _one_epoch(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("epochs") is None and value.get("steps") is None:
            return {**value, "epochs": 1}
        return value

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        if self.epochs is not None and self.steps is not None:
            raise ValueError("give `epochs` or `steps`, not both (`epochs: null` removes one)")
        return self

    def local(self, border: tuple[float, ...] = ()) -> LocalTraining:
        """Return what executors need of this.

        Args:
            border: what images are padded with before they are cropped, per channel; (): 0.
        """
        return LocalTraining(
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            schedule=self.lr_schedule,
            loss=self.loss,
            proximal=self.proximal,
            lr_epochs=self.epochs or 1,
            augmentation=self.augmentation.of_images(border),
            shuffle=self.shuffle,
            personal_epochs=self.personal_epochs,
        )


class Evaluation(Part):
    """When and on what the global model is judged."""

    every: Count = Field(
        1, description="rounds between evaluations; there is always one at the end"
    )
    initial: bool = Field(
        False,
        description="judge the model that the run begins with, too, before any training: as round "
        "0, at 0 s",
    )
    on: Literal["test", "train", "clients"] = Field(
        "test",
        description="test: the test samples; train: all that clients train on; clients: those that "
        "each client keeps aside (`data.local_validation`), and the mean over clients, all alike",
    )
    targets: tuple[Target, ...] = Field(
        (),
        description="accuracies whose first crossing is reported, in (0, 1]; or a value of the "
        "loss, of its error where it knows no accuracy, or of one of `metrics`, such as rmse 0.5",
    )
    metrics: tuple[Annotated[QualityMetric, quality_metrics], ...] = Field(
        (),
        description="what is measured besides accuracy and loss; each is a column of `rounds.csv`",
    )

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of `metrics`."""
        return tuple(metric.label for metric in self.metrics)

    @model_validator(mode="after")
    def _own_columns(self) -> Self:
        columns = {"t", "event", *header(PrivateRoundRow)}
        for place, label in enumerate(self.labels):
            if not label.isidentifier() or iskeyword(label):
                raise ValueError(f"metrics: {label!r} is no name for a column")
            if label in columns or label in self.labels[:place]:
                raise ValueError(f"metrics: there is a column {label!r} already")
        return self
