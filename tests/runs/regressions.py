"""Changes that make a regression of a tiny scenario."""

REGRESSION = {
    "data.dataset": {"name": "synthetic_regression", "clients": 8, "outputs": 2},
    "model.hidden": [],
    "training.loss": "mean_squared_error",
    "training.optimizer": {"name": "adam", "lr": 0.05},
    "training.lr_schedule": {"name": "warm_up", "rounds": 2, "then": "constant"},
}

# The one step of Adam is as long as the learning rate, whatever the gradient.
_RATES = {"name": "step", "milestones": [2], "factor": 1e26}
WILD = {
    **REGRESSION,
    "training.lr_schedule": _RATES,
    "training.epochs": 1,
    "training.batch_size": 1000,
    "evaluation.metrics": ["mean_absolute_error"],
}
"""Its last models are no finite numbers, the first one is."""
