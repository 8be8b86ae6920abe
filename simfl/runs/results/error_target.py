"""An error that runs are asked to come down to."""


class ErrorTarget(float):
    """A value of an error, such as an RMSE of 0.35, where accuracies are plain numbers.

    Attributes:
        error: what it is a value of, see `simfl.components.losses.base.Loss.error`.
    """

    error: str

    def __new__(cls, value: float, error: str) -> "ErrorTarget":
        """Return the target."""
        target = super().__new__(cls, value)
        target.error = error
        return target
