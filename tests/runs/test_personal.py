"""Personal layers: each device trains its own, and sends nobody any of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from simfl import Options, RunResult, Scenario
from simfl.build.builder import Builder
from simfl.cli import main
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.report.client_evaluation import as_text
from simfl.runs.evaluation.evaluate import evaluate
from simfl.scenario.assumptions import assumptions
from simfl.scenario.checks import complaints
from simfl.training.executors import sums
from simfl.training.executors.inline import Inline
from simfl.training.flat import build
from tests.tiny import TINY, RunTiny

BODY, HEAD = 36 * 8 + 8, 8 * 10 + 10
"""Parameters of the two layers of `TINY`'s model."""
MU = 0.2
JUDGED: dict[str, Any] = {
    "data.local_validation": "20%",
    "data.partition": {"name": "dirichlet", "alpha": 0.3},
    "evaluation.on": "clients",
}
FEDPER: dict[str, Any] = {"model.personal": ["3.*"], **JUDGED}
FLAKY = {"fleet.availability": {"name": "on_off", "on": "40 s", "off": "10 s"}}
STALE: dict[str, Any] = {
    "rounds.policy": {"name": "fedbuff", "buffer": 5, "concurrency": 8},
    "aggregation": "fedbuff",
}


def own(result: RunResult) -> dict[int, dict[str, torch.Tensor]]:
    """What each client has of its own."""
    held = torch.load(result.folder / "personal.pt", weights_only=True)
    named = held["parameters"].items()
    clients = enumerate(held["clients"].tolist())
    return {client: {name: part[at] for name, part in named} for at, client in clients}


def scenario(result: RunResult) -> Scenario:
    return Scenario.load(result.folder / "scenario.yaml")


class Net(nn.Module):
    """`TINY`'s model, written such that PyTorch has to train it, with or without batch norm."""

    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        layers: dict[str, nn.Module] = {"1": nn.Linear(36, 8), "3": nn.Linear(8, 10)}
        if norm:
            layers["norm"] = nn.BatchNorm1d(8, track_running_stats=False)
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.get_submodule("1")(x.flatten(1))
        if hasattr(self, "norm"):
            hidden = self.get_submodule("norm")(hidden)
        return self.get_submodule("3")(hidden.relu())


NET = f"{__name__}:Net"


@pytest.mark.parametrize(
    ("model", "personal", "first"),
    [
        ({"name": "mlp", "hidden": [8]}, "3.", None),
        ({"name": "mlp", "hidden": [8]}, "1.", None),
        ({"name": NET}, "3.", None),
        ({"name": NET, "norm": True}, "norm.", None),
        ({"name": "mlp", "hidden": [8]}, "", None),
        ({"name": "mlp", "hidden": [8]}, "3.", 1),
        ({"name": NET}, "3.", 1),
    ],
    ids=["fedper", "lg_fedavg", "by PyTorch", "fedbn", "alone", "fedrep", "fedrep by PyTorch"],
)
def test_it_is_what_a_plain_loop_in_pytorch_makes(
    run_tiny: RunTiny, model: dict[str, Any], personal: str, first: int | None
) -> None:
    """FedPer (Arivazhagan et al., 2019, algorithms 1 and 2), and with other parts its kin.

    FedRep (Collins et al., 2021, algorithm 1) trains them by turns.
    """
    training = {"epochs": 2, "batch_size": 8, "shuffle": False, "proximal": MU}
    result = run_tiny(
        {
            **JUDGED,
            "model": {**model, "personal": [f"{personal}*"]},
            "rounds": {"clients": 8, "stop": {"rounds": 2}},
            "training": {**training, "personal_epochs": first},
            "training.optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.5},
        }
    )
    given, seeds = scenario(result), Seeds(0)
    data = Builder(given, None, True, Inline()).federation
    start = build(given.model, *given.inputs_and_outputs(), seeds.number("init")).state_dict()
    mine = [name for name in start if name.startswith(personal)]
    shared = {name: part.clone() for name, part in start.items()}
    kept = [{name: start[name].clone() for name in mine} for _ in range(8)]
    for _ in range(2):
        total = {name: torch.zeros_like(part, dtype=torch.float64) for name, part in start.items()}
        for client in range(8):
            net = Net("norm.weight" in start)
            net.load_state_dict(shared | kept[client])
            cohort = data.training([client])
            x, y = cohort.x[cohort.rows[0]], cohort.y[cohort.rows[0]]
            if first:
                _train(net, mine, first, x, y)
                _train(net, [name for name in start if name not in mine], 2 - first, x, y)
            else:
                _train(net, [*start], 2, x, y)
            kept[client] = {name: net.state_dict()[name].clone() for name in mine}
            for name, part in net.state_dict().items():
                total[name] += float(data.sizes[client] / data.sizes.sum()) * part.double()
        shared = {name: part.float() for name, part in total.items()}
    ended = torch.load(result.folder / "model.pt", weights_only=True)
    for name, part in ended.items():
        expected = start[name] if name in mine else shared[name]  # a client that is new has these
        assert torch.allclose(part, expected, atol=1e-6)
    found = own(result)
    for client, parts in enumerate(kept):
        assert all(torch.allclose(found[client][name], parts[name], atol=1e-6) for name in mine)
    assert not torch.allclose(kept[0][mine[0]], kept[1][mine[0]], atol=1e-2)


def _train(net: nn.Module, names: list[str], epochs: int, x: torch.Tensor, y: torch.Tensor) -> None:
    parts = [net.get_parameter(name) for name in names]
    optimizer = torch.optim.SGD(parts, lr=0.1, momentum=0.5)
    start = [parameter.detach().clone() for parameter in parts]
    for _ in range(epochs):
        for first in range(0, len(x), 8):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x[first : first + 8]), y[first : first + 8])
            for parameter, began in zip(parts, start, strict=True):
                loss = loss + MU / 2 * (parameter - began).square().sum()
            loss.backward()
            optimizer.step()


def test_they_never_travel(run_tiny: RunTiny) -> None:
    """Nor is there a byte of them under --time-only, in a probe, or in what is compressed."""
    trained = run_tiny(FEDPER).rounds
    assert (trained["download_bytes"] == 4 * 4 * BODY).all()
    assert (trained["upload_bytes"] == 4 * 4 * BODY).all()
    timed = run_tiny(FEDPER, Options(time_only=True)).rounds
    assert timed["end_s"].tolist() == trained["end_s"].tolist()
    assert timed["upload_bytes"].tolist() == trained["upload_bytes"].tolist()
    top = {"name": "top_k", "share": "10%"}
    sparse = run_tiny({**FEDPER, "training.compression": top}).rounds["upload_bytes"]
    [update] = {*sparse}
    assert update == 4 * (-(-BODY // 10)) * 8
    probed = run_tiny({**FEDPER, "selection": {"name": "power_of_choice", "candidates": 6}}).rounds
    assert (probed["probe_bytes"] >= 6 * 4 * BODY).all()
    assert (probed["probe_bytes"] < 6 * 4 * (BODY + HEAD)).all()
    alone = run_tiny({**FEDPER, "model.personal": ["*"]}).rounds
    assert not alone[["download_bytes", "upload_bytes"]].to_numpy().any()


@pytest.mark.parametrize("first", [None, 1], ids=["together", "in turns"])
def test_executors_make_the_same_of_them(run_tiny: RunTiny, first: int | None) -> None:
    """Under FedBuff a client may have several updates in the buffer, one made after the other."""
    changes = {**FEDPER, **FLAKY, **STALE, "training.personal_epochs": first}
    names = ("events.jsonl", "rounds.csv", "model.pt", "personal.pt")
    alone, together = (
        [(run_tiny(changes, options).folder / name).read_bytes() for name in names]
        for options in (Options(executor="inline"), Options(executor="processes", workers=1))
    )
    assert alone == together


def test_models_that_are_not_there_all_at_once_make_the_same_of_them(
    run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for room in (sums.ROOM_BYTES, 1):
        monkeypatch.setattr(sums, "ROOM_BYTES", room)
        folder = run_tiny(FEDPER, Options(executor="inline")).folder
        made.append([(folder / name).read_bytes() for name in ("model.pt", "personal.pt")])
    assert made[0] == made[1]


def test_who_was_never_in_time_has_what_all_began_with(run_tiny: RunTiny) -> None:
    """What never arrives is never trained, and leaves personal layers as they were."""
    late = {"rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "40%"}}}
    result = run_tiny({**FEDPER, **late})
    heard = np.flatnonzero(result.participations)
    assert 0 < len(heard) < 8
    assert list(own(result)) == heard.tolist()
    assert (result.clients["outcome"] == "late").any()


def test_each_client_is_judged_with_its_own_model(run_tiny: RunTiny) -> None:
    """By the run, by `simfl evaluate`, and by arithmetic."""
    result = run_tiny({**FEDPER, "rounds.clients": 3})
    found = evaluate(result)
    assert found.personal
    assert result.final_accuracy == pytest.approx(found.spreads[0].mean)
    last = result.rounds.iloc[-1]
    assert last["loss"] == pytest.approx(found.clients["loss"].mean())
    parts, data = own(result), Builder(scenario(result), None, True, Inline()).federation
    model = torch.load(result.folder / "model.pt", weights_only=True)
    assert len(parts) < 8
    for client, accuracy in zip(found.clients["client"], found.clients["accuracy"], strict=True):
        net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 10))
        net.load_state_dict(model | parts.get(client, {}))
        cohort = data.validation([client])
        rows = cohort.rows[0]
        right = (net(cohort.x[rows]).argmax(1) == cohort.y[rows]).double().mean()
        assert accuracy == pytest.approx(float(right))
    told = " ".join(as_text(found).split())
    assert "accuracy of clients' own models on the samples that each client keeps aside" in told


def test_fine_tuning_begins_with_the_own_model(run_tiny: RunTiny) -> None:
    """With no step it would be the same, and each client's is another."""
    changes = {**FEDPER, "training.optimizer": {"name": "sgd", "lr": 0.1}}
    result = run_tiny(
        {**changes, "training.lr_schedule": {"name": "step", "milestones": [4], "factor": 1e-12}}
    )
    found = evaluate(result, fine_tune=1).clients
    assert found["fine_tuned_loss"].to_numpy() == pytest.approx(found["loss"].to_numpy(), rel=1e-4)


def test_a_run_in_which_nobody_trained(run_tiny: RunTiny) -> None:
    """Such as one that has diverged: it is judged with what all began with."""
    result = run_tiny({**FEDPER, "rounds.stop": {"time": "1 ms"}})
    assert own(result) == {}
    assert evaluate(result).clients["accuracy"].notna().all()


def test_files_that_hold_no_personal_layers(run_tiny: RunTiny) -> None:
    folder = run_tiny(FEDPER).folder
    path = folder / "personal.pt"
    held = torch.load(path, weights_only=True)
    held["parameters"]["3.bias"] = held["parameters"]["3.bias"][:, :1]
    torch.save(held, path)
    with pytest.raises(InputError, match=r"personal.pt is damaged: its tensors are not the person"):
        evaluate(RunResult(folder))
    torch.save([1], path)
    with pytest.raises(InputError, match=r"personal.pt is damaged: it is no whole file"):
        evaluate(RunResult(folder))
    path.unlink()
    with pytest.raises(InputError, match=r"personal.pt is missing"):
        evaluate(RunResult(folder))


@pytest.mark.parametrize(
    ("pattern", "parameters", "rest"),
    [
        ("*.bias", 18, "they are never sent"),
        ("*", BODY + HEAD, "they are the whole model, so nothing is sent"),
    ],
)
def test_what_devices_have_of_their_own_is_told(pattern: str, parameters: int, rest: str) -> None:
    judged = ["evaluation.on=clients", "data.local_validation=0.2"]
    given = Scenario.from_dict(TINY, overrides=[*judged, f"model.personal=['{pattern}']"])
    [told] = [each.value for each in assumptions(given) if each.path == ("model", "personal")]
    assert told.startswith(f"each device trains its own copy of these {parameters} parameters")
    assert told.endswith(rest)


@pytest.mark.parametrize(
    ("stop", "changes", "refused"),
    [
        (["bytes"], {}, True),
        (["bytes", "accuracy"], {}, True),
        (["bytes", "time"], {}, False),
        (["bytes"], {"model.personal": ["3.*"]}, False),
        (["bytes"], {"selection": "power_of_choice"}, False),
        (["bytes"], {"selection": {"name": "power_of_choice", "charge_probes": False}}, True),
        (["bytes"], {"aggregation": "qfedavg"}, False),
    ],
)
def test_bytes_alone_end_no_run_in_which_nothing_is_sent(
    stop: list[str], changes: dict[str, Any], refused: bool
) -> None:
    """Of devices that train alone it went on for ever."""
    ends = {"bytes": "1 MB", "accuracy": "90%", "time": "1 h"}
    rounds = {"rounds.stop": {"rounds": None, **{rule: ends[rule] for rule in stop}}}
    given = {**JUDGED, "model.personal": ["*"], **rounds, **changes}
    overrides = [f"{path}={json.dumps(value)}" for path, value in given.items()]
    told = complaints(Scenario.from_dict(TINY, overrides=overrides))
    assert len(told) == refused
    assert all("rounds.stop: needs more than bytes: all parameters are" in line for line in told)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"personal": ["fc.*"]}, "no parameter matches 'fc.*'; there are 1.weight, 1.bias"),
        (
            {"personal": ["3.wieght"]},
            "no parameter matches '3.wieght'; there are 1.weight, 1.bias, 3.weight, 3.bias; did "
            "you mean '3.weight'?",
        ),
        (
            {"frozen": ["1.*"], "personal": ["3.*", "1.b*"]},
            "parameters that match '1.b*' are not trained, so no device has its own",
        ),
    ],
)
def test_parameters_that_can_not_be_personal(options: dict[str, Any], why: str) -> None:
    given = Scenario.from_dict(
        {
            **TINY,
            "data": {**TINY["data"], "local_validation": 0.2},
            "model": {**TINY["model"], **options},
            "evaluation": {"on": "clients"},
        }
    )
    [line] = complaints(given)
    assert line.startswith(f"scenario: model.personal: {why}")


def test_a_selector_is_told_of_shared_layers_alone(run_tiny: RunTiny) -> None:
    """Gradients, updates, losses of clients' own models: all of them reach it, and fit."""
    for selection in ("divfl", "clustered", "afl", "oort", "fedcor"):
        result = run_tiny({**FEDPER, "selection": selection, "rounds.stop.rounds": 2})
        assert result.n_rounds == 2


def test_an_own_model_may_share_parameters(run_tiny: RunTiny) -> None:
    """Whatever it is called by, a parameter that layers share is personal in both."""
    result = run_tiny({**JUDGED, "model": {"name": f"{__name__}:tied", "personal": ["again.*"]}})
    assert list(own(result)[int(np.flatnonzero(result.participations)[0])]) == [
        "middle.weight",
        "middle.bias",
    ]


def tied(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A layer twice."""
    middle, net = nn.Linear(6, 6), nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), 6))
    for name, layer in {"middle": middle, "again": middle, "head": nn.Linear(6, classes)}.items():
        net.add_module(name, layer)
    return net


def test_a_run_that_is_forked_goes_on_with_them(run_tiny: RunTiny) -> None:
    short, long = (run_tiny({**FEDPER, "rounds.stop.rounds": n}) for n in (3, 5))
    changed = ["--at", "end", "--set", "rounds.stop.rounds=5"]
    assert main(["fork", str(short.folder), *changed, "-q", "--no-report"]) == 0
    folder: Path = short.folder.parents[1] / "default-fork" / "seed-0"
    for name in ("model.pt", "personal.pt"):
        assert (folder / name).read_bytes() == (long.folder / name).read_bytes()
