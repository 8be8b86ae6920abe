"""pfl: `FederatedAveraging` on the simulated backend."""

import numpy as np
import torch
from common import Data, Gate, torch_model
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.callback.central_evaluation import CentralEvaluationCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Weighted
from pfl.model.pytorch import PyTorchModel

torch.set_num_threads(1)
np.random.seed(0)
data = Data()
spec = data.spec
x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
test_x, test_y = torch.from_numpy(data.test_x), torch.from_numpy(data.test_y)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch_model(spec["model"])

    def forward(self, inputs):
        return self.inner(inputs)

    def loss(self, inputs, targets, eval=False):
        self.eval() if eval else self.train()
        return torch.nn.functional.cross_entropy(self(inputs), targets)

    @torch.no_grad()
    def metrics(self, inputs, targets, eval=True):
        self.eval()
        hits = int((self(inputs).argmax(1) == targets).sum())
        return {"accuracy": Weighted(hits, len(targets))}


class AtGate(TrainingProcessCallback):
    def on_train_begin(self, *, model):
        gate.pass_()
        return super().on_train_begin(model=model)

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        gate.pass_()
        return False, super().after_central_iteration(
            aggregate_metrics, model, central_iteration=central_iteration
        )[1]


def make_dataset(client):
    rows = torch.randperm(data.parts[client].stop - data.parts[client].start)
    return Dataset((x[data.parts[client]][rows], y[data.parts[client]][rows]), user_id=client)


order = iter([client for cohort in data.cohorts for client in cohort])
train = FederatedDataset(make_dataset, lambda: next(order))
model = Module()
wrapped = PyTorchModel(
    model, torch.optim.SGD, torch.optim.SGD(model.parameters(), lr=1.0)
)
gate = Gate("pfl", "torch", "numpy")
FederatedAveraging().run(
    algorithm_params=NNAlgorithmParams(
        central_num_iterations=len(data.cohorts),
        evaluation_frequency=10**9,
        train_cohort_size=spec["per_round"],
        val_cohort_size=0,
    ),
    backend=SimulatedBackend(training_data=train, val_data=train),
    model=wrapped,
    model_train_params=NNTrainHyperParams(
        local_num_epochs=spec["epochs"],
        local_learning_rate=spec["lr"],
        local_batch_size=spec["batch"],
    ),
    callbacks=[
        CentralEvaluationCallback(
            Dataset((test_x, test_y)), NNEvalHyperParams(local_batch_size=1000)
        ),
        AtGate(),
    ],
)
