"""Random scenarios that are valid, small and end soon: for tests that must hold for any of them.

Needs Hypothesis.  Every choice is a component by name, with options that matter to time, bytes or
energy; what does not go together is left out, as the components themselves object to it.
"""

from typing import Any

from hypothesis import strategies as st

from simfl.errors import ScenarioError
from simfl.scenario import Scenario
from simfl.scenario.checks import complaints

Document = dict[str, Any]


def _named(name: str, **options: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    """Return a strategy of components called `name`, with drawn options."""
    return st.fixed_dictionaries({"name": st.just(name), **options})


DEADLINES: st.SearchStrategy[Any] = st.sampled_from(
    ["none", "300 ms", "1 s", {"stragglers": "30%"}, {"stragglers": "70%"}]
)
SHARES = st.sampled_from(["100%", "130%", "200%"])
POLICIES: st.SearchStrategy[Any] = st.one_of(
    _named(
        "synchronous",
        deadline=DEADLINES,
        enforce=st.booleans(),
        over_select=SHARES,
        late=st.sampled_from(["drop", "carry"]),
        server_time=st.sampled_from(["0 s", "50 ms"]),
    ),
    _named(
        "semi_synchronous",
        period=st.sampled_from(["400 ms", {"stragglers": "50%"}]),
        max_staleness=st.sampled_from([None, 0, 2]),
    ),
    _named(
        "fedbuff",
        buffer=st.integers(1, 4),
        max_staleness=st.sampled_from([None, 0, 2]),
        timeout=st.sampled_from([None, "1 s"]),
        server_time=st.sampled_from(["0 s", "50 ms"]),
    ),
    _named(
        "fedasync",
        concurrency=st.integers(1, 5),
        timeout=st.sampled_from([None, "800 ms"]),
    ),
    _named(
        "tiered",
        tiers=st.integers(1, 3),
        deadline=DEADLINES,
    ),
    _named(
        "hierarchical",
        edges=st.sampled_from([1, 2, "groups"]),
        edge_rounds=st.integers(1, 3),
        deadline=DEADLINES,
        uplink=st.sampled_from(["unlimited", "20 kbit/s"]),
        latency=st.sampled_from(["0 s", "50 ms"]),
        server_time=st.sampled_from(["0 s", "50 ms"]),
    ),
)
SELECTORS: st.SearchStrategy[Any] = st.sampled_from(
    [
        "uniform", "uniform", "round_robin", "weighted", "afl", "oort", "tifl", "clustered",
        "divfl", "k_dpp", "fedsae", "fedacs", "fedcor", "power_of_choice",
        {"name": "power_of_choice", "candidates": 5, "loss": "minibatch"},
        {"name": "power_of_choice", "charge_probes": False},
        {"name": "weighted", "replacement": True},
        {"name": "oracle", "goal": "fastest"},
        {"name": "oracle", "goal": "balanced"},
    ]
)  # fmt: skip
AGGREGATORS: st.SearchStrategy[Any] = st.sampled_from(
    [
        "fedavg", "fedavg", "fedavgm", "fedadam", "fedyogi", "fedadagrad", "fedbuff", "fedasync",
        {"name": "fedat", "tiers": 2}, "fednova", "qfedavg", "median", "trimmed_mean", "scaffold",
        "feddyn", "geometric_median", {"name": "centered_clipping", "clip": 0.5},
        {"name": "krum", "byzantine": 0}, {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 0.1},
        {"name": "dp_fedavg_adaptive", "noise_multiplier": 0.01},
    ]
)  # fmt: skip
MEANS: st.SearchStrategy[Any] = st.sampled_from(
    ["fedavg", {"name": "fedavg", "weighting": "uniform"}]
)
"""What edge servers go with."""
COMPRESSORS: st.SearchStrategy[Any] = st.sampled_from(
    [
        "none",
        "float16",
        {"name": "quantize", "bits": 4, "error_feedback": True},
        {"name": "top_k", "share": "10%"},
    ]
)
FILTERS: st.SearchStrategy[Any] = st.sampled_from(
    ["none", "none", {"name": "cmfl", "threshold": 0.55}]
)
ATTACKS: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        None,
        None,
        "sign_flip",
        "gaussian",
        "a_little_is_enough",
        "inner_product",
        "label_flip",
        {"name": "sign_flip", "from_round": 2},
        {"name": "label_flip", "share": {"min": "20%", "max": "80%"}, "from_round": 2},
    ]
)
PERSONAL: st.SearchStrategy[list[str]] = st.sampled_from([[], ["*.bias"], ["*.weight"], ["*"]])
WORKLOADS: st.SearchStrategy[Any] = st.sampled_from(
    [
        "full",
        "full",
        "partial_epochs",
        "random_epochs",
        "coreset",
        {"name": "coreset", "method": "random"},
    ]
)
OPTIMIZERS: st.SearchStrategy[Any] = st.sampled_from(
    ["sgd", {"name": "sgd", "lr": 0.1, "momentum": 0.5}, {"name": "adam", "lr": 0.01}]
)
AVAILABILITIES: st.SearchStrategy[Any] = st.sampled_from(
    [
        "always",
        {"name": "on_off", "on": "2 s", "off": "500 ms"},
        {"name": "on_off", "on": "300 ms", "off": "300 ms"},
        {"name": "markov", "step": "500 ms", "p_stay_on": 0.8, "p_become_on": 0.5},
        {"name": "outages", "base": "always", "between": "3 s", "lasting": "1 s"},
    ]
)
POWER = {"idle": "1 W", "download": "2 W", "compute": "4 W", "upload": "3 W"}
BATTERIES: st.SearchStrategy[Any] = st.sampled_from(
    [
        {
            "capacity": "6 J",
            "charge": "5 W",
            "plugged": {"name": "on_off", "on": "1 s", "off": "1 s"},
        },
        {
            "capacity": "6 J",
            "charge": "5 W",
            "plugged": {"name": "on_off", "on": "2 s", "off": "1 s"},
            "only_plugged": True,
        },
        {"capacity": "3 J", "start": {"min": "30%", "max": "100%"}, "minimum": "10%"},
    ]
)
COMPUTE: st.SearchStrategy[Any] = st.sampled_from(
    [
        "60 samples/s",
        {"distribution": "lognormal", "median": "60 samples/s", "sigma": 0.6},
        {"distribution": "choice", "values": ["20 samples/s", "80 samples/s"]},
        {"distribution": "exponential", "mean": "50 ms/sample", "min": "1 ms/sample"},
    ]
)
LINKS: st.SearchStrategy[Any] = st.sampled_from(["unlimited", "200 kbit/s", "50 kbit/s"])
NETWORKS: st.SearchStrategy[Any] = st.sampled_from(
    [
        {},
        {"server_uplink": "100 kbit/s"},
        {"server_uplink": "1 Mbit/s", "server_downlink": "80 kbit/s"},
        {"server_downlink": "80 kbit/s", "buffer": "500 B", "overhead": "10%"},
        {"server_uplink": "100 kbit/s", "polling": "300 ms"},
        {"server_uplink": "100 kbit/s", "server_downlink": "80 kbit/s", "queue": "fifo"},
        {"server_uplink": "1 Mbit/s", "initial_window": "500 B", "message_overhead": "300 B"},
        {"initial_window": "500 B", "queue_limit": "1 kB"},
        {"message_overhead": "300 B"},
    ]
)


@st.composite
def groups(draw: st.DrawFn, name: str) -> Document:
    """Return a group of two to four devices."""
    group: Document = {
        "name": name,
        "count": draw(st.integers(2, 4)),
        "compute": draw(COMPUTE),
        "downlink": draw(LINKS),
        "uplink": draw(LINKS),
        "latency": draw(st.sampled_from(["0 s", "20 ms"])),
        "availability": draw(AVAILABILITIES),
        "on_offline": draw(st.sampled_from(["abort", "pause", "salvage"])),
    }
    if attack := draw(ATTACKS):
        group["attack"] = attack
    if draw(st.booleans()):
        group["power"] = POWER
        if draw(st.booleans()):
            group["battery"] = draw(BATTERIES)
    if draw(st.booleans()):
        group["failures"] = "20%"
    if draw(st.booleans()):
        group["link_jitter"] = {"sigma": 0.4}
    if draw(st.booleans()):
        group["compute_jitter"] = {"sigma": 0.3}
    if draw(st.booleans()):
        group["memory"] = draw(st.sampled_from(["1 kB", "1 MB"]))
    return group


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Return a scenario, as it would be written; it may hold what does not go together."""
    policy, network = draw(POLICIES), draw(NETWORKS)
    at_edges = policy["name"] == "hierarchical"
    if at_edges:
        network = {key: value for key, value in network.items() if not key.startswith("server_")}
    aggregation = draw(MEANS if at_edges else AGGREGATORS)
    document: Document = {
        "name": "random",
        "seed": draw(st.integers(0, 99)),
        "data": {
            "dataset": {"name": "synthetic_images", "samples": 90, "test_samples": 20, "size": 4},
            "partition": draw(st.sampled_from(["iid", {"name": "dirichlet", "alpha": 0.5}])),
        },
        "model": draw(st.sampled_from(["logistic_regression", {"name": "mlp", "hidden": [4]}])),
        "fleet": [draw(groups(name)) for name in ("phones", "boards")[: draw(st.integers(1, 2))]],
        "network": network,
        "training": {
            "epochs": draw(st.integers(1, 2)),
            "batch_size": 8,
            "optimizer": draw(OPTIMIZERS),
            "workload": draw(WORKLOADS),
            "compression": draw(COMPRESSORS),
            "filter": draw(FILTERS),
            "proximal": 0.1 if aggregation == "feddyn" else 0,
        },
        "rounds": {
            "clients": draw(st.integers(1, 3)),
            "policy": policy,
            "stop": {"rounds": 3, "time": "8 s"},
        },
        "selection": draw(SELECTORS),
        "aggregation": aggregation,
        "evaluation": {
            "every": draw(st.integers(1, 2)),
            "initial": draw(st.booleans()),
            "targets": [0.1, 0.5],
        },
    }
    if draw(st.booleans()):
        document["data"]["local_validation"] = "25%"
        document["evaluation"]["on"] = "clients"
        if own := draw(PERSONAL):
            model = document["model"]
            named = {"name": model} if isinstance(model, str) else model
            document["model"] = {**named, "personal": own}
            if document["training"]["epochs"] == 2 and draw(st.booleans()):
                document["training"]["personal_epochs"] = 1
    if policy["name"] == "synchronous" and policy["late"] == "drop":
        policy["min_updates"] = min(1 + document["seed"] % 2, document["rounds"]["clients"])
    return document


def scenarios() -> st.SearchStrategy[Scenario]:
    """Return a strategy of valid scenarios."""
    return documents().map(_valid).filter(lambda scenario: scenario is not None)  # type: ignore[return-value]


def _valid(document: Document) -> Scenario | None:
    try:
        scenario = Scenario.from_dict(document)
    except ScenarioError:
        return None
    return None if complaints(scenario) else scenario
