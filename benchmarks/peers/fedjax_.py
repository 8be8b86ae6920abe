"""FedJAX: its federated averaging, jitted, on one CPU."""

import fedjax
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from common import Data, Gate

data = Data()
spec = data.spec


def forward(batch):
    x = batch["x"]
    if "cnn" in spec["model"]:
        channels, size, padding, hidden = {
            "cnn": ((32, 64), 3, "SAME", (128,)),
            "fedacs_cnn": ((6, 16), 5, "VALID", (120, 84)),
        }[spec["model"]]
        x = jnp.transpose(x, (0, 2, 3, 1))
        for count in channels:
            x = jax.nn.relu(hk.Conv2D(count, size, padding=padding)(x))
            x = hk.MaxPool((1, 2, 2, 1), (1, 2, 2, 1), "VALID")(x)
        x = x.reshape(x.shape[0], -1)
        for units in hidden:
            x = jax.nn.relu(hk.Linear(units)(x))
        return hk.Linear(10)(x)
    x = x.reshape(x.shape[0], -1)
    if spec["model"] == "mlp":
        x = jax.nn.relu(hk.Linear(64)(x))
        x = jax.nn.relu(hk.Linear(30)(x))
    return hk.Linear(10)(x)


def loss(batch, predictions):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(predictions), batch["y"][:, None], 1)
    return -chosen[:, 0]


sample = {"x": data.x[:1], "y": data.y[:1].astype(np.int32)}
model = fedjax.create_model_from_haiku(
    hk.transform(forward), sample, loss, {"accuracy": fedjax.metrics.Accuracy()}
)
algorithm = fedjax.algorithms.fed_avg.federated_averaging(
    fedjax.model_grad(model),
    fedjax.optimizers.sgd(spec["lr"]),
    fedjax.optimizers.sgd(1.0),
    fedjax.ShuffleRepeatBatchHParams(
        batch_size=spec["batch"], num_epochs=spec["epochs"], drop_remainder=False, seed=0
    ),
)
clients = [
    fedjax.ClientDataset({"x": data.x[part], "y": data.y[part].astype(np.int32)})
    for part in data.parts
]
test = fedjax.ClientDataset({"x": data.test_x, "y": data.test_y.astype(np.int32)})
batches = list(fedjax.padded_batch_client_datasets([test], batch_size=1000))
gate = Gate("fedjax", "jax", "dm-haiku", "numpy")
state = algorithm.init(model.init(jax.random.PRNGKey(0)))
gate.pass_()
for round_, cohort in enumerate(data.cohorts):
    keys = jax.random.split(jax.random.PRNGKey(round_), len(cohort))
    state, _ = algorithm.apply(
        state, [(b"%d" % i, clients[i], key) for i, key in zip(cohort, keys)]
    )
    found = fedjax.evaluate_model(model, state.params, batches)
    gate.pass_(float(found["accuracy"]))
