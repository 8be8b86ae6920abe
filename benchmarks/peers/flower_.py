"""Flower: its simulation engine (Ray), `FedAvg`, one CPU."""

import logging

import torch
from common import Gate, torch_accuracy, torch_model
from flower_client import app, data, load, weights_of
from flwr.common import Context, ndarrays_to_parameters
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation

logging.disable(logging.WARNING)


def server_fn(context: Context):
    spec = data().spec
    model = torch_model(spec["model"])
    test_x, test_y = torch.from_numpy(data().test_x), torch.from_numpy(data().test_y)
    gate = Gate("flwr", "ray", "torch", "numpy")

    def evaluate(round_, parameters, config):
        load(model, parameters)
        accuracy = torch_accuracy(model, test_x, test_y)
        gate.pass_(accuracy)
        return 0.0, {"accuracy": accuracy}

    strategy = FedAvg(
        fraction_fit=spec["per_round"] / spec["clients"],
        min_fit_clients=spec["per_round"],
        fraction_evaluate=0.0,
        min_available_clients=spec["clients"],
        evaluate_fn=evaluate,
        initial_parameters=ndarrays_to_parameters(weights_of(model)),
    )
    rounds = ServerConfig(num_rounds=len(data().cohorts))
    return ServerAppComponents(strategy=strategy, config=rounds)


if __name__ == "__main__":
    run_simulation(
        server_app=ServerApp(server_fn=server_fn),
        client_app=app,
        num_supernodes=data().spec["clients"],
        backend_config={
            "init_args": {"num_cpus": 1, "include_dashboard": False, "log_to_driver": False},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
