"""FLGo: its FedAvg on a task made of the same data."""

import os
import tempfile

import flgo
import flgo.algorithm.fedavg as fedavg
import flgo_benchmark
import torch
from common import Data, Gate, torch_model
from flgo.benchmark.toolkits.partition import BasicPartitioner
from flgo.experiment.logger import BasicLogger

torch.set_num_threads(1)
data = Data()
spec = data.spec
gate = Gate("flgo", "torch", "numpy")


class Parts(BasicPartitioner):
    def __init__(self):
        self.num_clients = spec["clients"]

    def __call__(self, dataset):
        return [list(range(part.start, part.stop)) for part in data.parts]


class Logger(BasicLogger):
    def log_once(self, *args, **kwargs):
        gate.pass_(self.coordinator.test()["accuracy"])


class Server(fedavg.Server):
    def sample(self):
        return data.cohorts[self.current_round - 1]


class Algorithm:
    Server = Server
    Client = fedavg.Client


folder = tempfile.mkdtemp()
os.chdir(folder)
flgo.gen_task_by_(flgo_benchmark, Parts(), os.path.join(folder, "task"))
model = flgo.convert_model(lambda: torch_model(spec["model"]), "reference")
runner = flgo.init(
    os.path.join(folder, "task"),
    Algorithm,
    {
        "num_rounds": len(data.cohorts),
        "proportion": spec["per_round"] / spec["clients"],
        "num_epochs": spec["epochs"],
        "batch_size": spec["batch"],
        "learning_rate": spec["lr"],
        "train_holdout": 0.0,
        "test_batch_size": 1000,
        "no_log_console": True,
        "no_tqdm": True,
    },
    model=model,
    Logger=Logger,
)
runner.run()
