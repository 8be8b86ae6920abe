"""Flower's client; a module of its own, or the data would travel with every message."""

from functools import cache

import torch
from common import Data, torch_model
from flwr.client import ClientApp, NumPyClient
from flwr.common import Context


def weights_of(model):
    return [value.numpy() for value in model.state_dict().values()]


def load(model, weights):
    state = {k: torch.from_numpy(v.copy()) for k, v in zip(model.state_dict(), weights)}
    model.load_state_dict(state)


@cache
def data():
    torch.set_num_threads(1)
    return Data()


class Client(NumPyClient):
    def __init__(self, client):
        self.part = data().parts[client]

    def fit(self, parameters, config):
        spec = data().spec
        model = torch_model(spec["model"])
        load(model, parameters)
        model.train()
        x, y = torch.from_numpy(data().x[self.part]), torch.from_numpy(data().y[self.part])
        dataset = torch.utils.data.TensorDataset(x, y)
        loader = torch.utils.data.DataLoader(dataset, spec["batch"], shuffle=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=spec["lr"])
        for _ in range(spec["epochs"]):
            for inputs, targets in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
        return weights_of(model), len(y), {}


def client_fn(context: Context):
    return Client(int(context.node_config["partition-id"])).to_client()


app = ClientApp(client_fn=client_fn)
