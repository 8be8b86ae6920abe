"""How FLGo reads the workload."""

import torch
from common import Data
from flgo.benchmark.toolkits.cv.classification import (
    FromDatasetGenerator,
    FromDatasetPipe,
    GeneralCalculator,
)

data = Data()
train_data = torch.utils.data.TensorDataset(torch.from_numpy(data.x), torch.from_numpy(data.y))
test_data = torch.utils.data.TensorDataset(
    torch.from_numpy(data.test_x), torch.from_numpy(data.test_y)
)


class TaskGenerator(FromDatasetGenerator):
    def __init__(self):
        super().__init__("flgo_benchmark", train_data=train_data, test_data=test_data)


class TaskPipe(FromDatasetPipe):
    class TaskDataset(FromDatasetPipe.TaskDataset):
        def __getitems__(self, indices):  # FLGo 0.4.4 lacks what PyTorch asks for since 2.9
            return [self[index] for index in indices]

    def __init__(self, task_path):
        super().__init__(task_path, train_data=train_data, test_data=test_data)


TaskCalculator = GeneralCalculator
