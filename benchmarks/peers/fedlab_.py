"""FedLab: `StandalonePipeline` with the serial SGD trainer."""

import logging
import sys
from unittest.mock import MagicMock

import torch

try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):  # built for another PyTorch
    # FedLab imports it for data sets that are not used here.
    for name in ("", ".datasets", ".transforms", ".models", ".transforms.functional"):
        sys.modules[f"torchvision{name}"] = MagicMock()
from common import Data, Gate, torch_accuracy, torch_model
from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.contrib.dataset.basic_dataset import FedDataset
from fedlab.core.standalone import StandalonePipeline

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
data = Data()
spec = data.spec
x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
test_x, test_y = torch.from_numpy(data.test_x), torch.from_numpy(data.test_y)


class Parts(FedDataset):
    def get_dataset(self, id):
        return torch.utils.data.TensorDataset(x[data.parts[id]], y[data.parts[id]])

    def get_dataloader(self, id, batch_size):
        return torch.utils.data.DataLoader(self.get_dataset(id), batch_size, shuffle=True)


class Handler(SyncServerHandler):
    def sample_clients(self):
        return data.cohorts[self.round]


class Pipeline(StandalonePipeline):
    def evaluate(self):
        gate.pass_(torch_accuracy(self.handler.model, test_x, test_y))


model = torch_model(spec["model"])
handler = Handler(model, len(data.cohorts), spec["per_round"] / spec["clients"])
trainer = SGDSerialClientTrainer(torch_model(spec["model"]), spec["clients"])
trainer.setup_dataset(Parts())
trainer.setup_optim(spec["epochs"], spec["batch"], spec["lr"])
gate = Gate("fedlab", "torch", "numpy")
pipeline = Pipeline(handler, trainer)
gate.pass_()
pipeline.main()
