"""What can't go together is told with its place, before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from simfl.cli import main
from simfl.core.component import Component
from simfl.errors import InputError, ScenarioError
from simfl.scenario import Document, expand
from simfl.scenario.checks import components, refuse
from simfl.scenario.reference.kinds import KINDS, registry
from simfl.testing.circumstances import circumstances

PICTURES = "data: {dataset: {name: synthetic_images, samples: 240, size: 6}}"
GOOD = f"""\
{PICTURES}
model: mlp
fleet: {{count: 8}}
rounds: {{clients: 4, stop: {{rounds: 3}}}}
"""
ALTERNATING = (
    GOOD.replace("size: 6}", "size: 6}, local_validation: 20%").replace(
        "model: mlp", "model: {name: mlp, personal: ['3.*']}"
    )
    + "evaluation: {on: clients}\ntraining: {epochs: 2, personal_epochs: 1}\n"
)
PERSONAL = ALTERNATING.replace("3.*", "*").replace(
    "training: {epochs: 2, personal_epochs: 1}\n", ""
)


def told(text: str, folder: Path, **how: bool) -> list[str]:
    """Return what is told of a scenario, a line each."""
    file = folder / "s.yaml"
    file.write_text(text)
    try:
        refuse({run.variant: run.scenario for run in expand(Document.load(file))}, **how)
    except ScenarioError as error:
        return [line.removeprefix(f"{file}:") for line in str(error).splitlines()]
    return []


def test_nothing_is_told_of_a_good_scenario(tmp_path: Path) -> None:
    assert told(GOOD, tmp_path) == told(GOOD, tmp_path, trains=False) == []
    assert told(ALTERNATING, tmp_path) == told(PERSONAL, tmp_path) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "executors"])
def test_defaults_of_every_component_are_fine_with_somebody(kind: str) -> None:
    """Whoever objects to ordinary circumstances says so in words, and names itself."""
    for name in registry(kind).names():
        try:
            component = registry(kind).parse(name)
        except ValueError:  # it has options without a default
            continue
        try:
            messages = list(component.objections(circumstances()))
        except InputError as error:
            messages = [str(error)]
        assert all(repr(name) in message for message in messages)


NATURAL = "data: {dataset: {name: synthetic, clients: 30}}"
CASES = {
    "more devices than natural clients": (
        GOOD.replace(PICTURES, NATURAL).replace("count: 8", "count: 200"),
        "1:7: data.partition: partition 'natural' has 30 clients with samples to train on, fewer",
    ),
    "more devices than one natural client": (
        GOOD.replace(PICTURES, NATURAL.replace("30", "1")),
        "1:7: data.partition: partition 'natural' has 1 client with samples to train on, fewer",
    ),
    "more devices than clients with numbers to learn": (
        GOOD.replace(PICTURES, "data: {dataset: {name: synthetic_regression, clients: 30}}")
        .replace("mlp", "mlp\ntraining: {loss: mean_squared_error}")
        .replace("count: 8", "count: 200"),
        "1:7: data.partition: partition 'natural' has 30 clients with samples to train on, fewer",
    ),
    "more devices than samples": (
        GOOD.replace("count: 8", "count: 999"),
        "1:7: data.partition: partition 'iid' can't deal 240 samples to 999 clients",
    ),
    "no natural clients": (
        GOOD.replace("size: 6}", "size: 6}, partition: natural"),
        "1:77: data.partition: partition 'natural' needs a data set with clients of its own",
    ),
    "too few samples": (
        GOOD.replace("size: 6}", "size: 6}, partition: dirichlet").replace("count: 8", "count: 99"),
        "1:77: data.partition: partition 'dirichlet' can't deal 240 samples to 99 clients",
    ),
    "no multiple of the classes": (
        GOOD.replace("size: 6}", "size: 6}, partition: power_law_two_digits"),
        "1:77: data.partition: partition 'power_law_two_digits' needs a number of devices that",
    ),
    "no pictures": (
        GOOD.replace(PICTURES, NATURAL).replace("model: mlp", "model: cnn"),
        "2:8: model: model 'cnn' takes inputs of shape (channels, height, width)",
    ),
    "pictures too small": (
        GOOD.replace("model: mlp", "model: fedacs_cnn"),
        "2:8: model: model 'fedacs_cnn' takes inputs of shape (channels, height, width) of 16",
    ),
    "no tokens": (
        GOOD.replace(PICTURES, NATURAL).replace("model: mlp", "model: fedcore_lstm"),
        "2:8: model: model 'fedcore_lstm' takes tokens, not measurements",
    ),
    "no hidden layer": (
        GOOD.replace("model: mlp", "model: logistic_regression") + "selection: k_dpp\n",
        "5:12: selection: selector 'k_dpp' needs profiles",
    ),
    "nobody counts labels": (
        GOOD.replace(PICTURES, "data: {dataset: generated}").replace("mlp", "logistic_regression")
        + "selection: {name: oracle, goal: balanced}\n",
        "5:12: selection: selector 'oracle' needs everybody's label counts",
    ),
    "no labels to count": (
        GOOD.replace(PICTURES, "data: {dataset: synthetic_regression}").replace(
            "mlp", "{name: mlp, hidden: []}"
        )
        + "training: {loss: mean_squared_error}\nselection: {name: oracle, goal: balanced}\n",
        "6:12: selection: selector 'oracle' needs everybody's label counts, and the targets of "
        "data set 'synthetic_regression' are numbers",
    ),
    "nobody holds all training samples": (
        GOOD.replace(PICTURES, "data: {dataset: generated}") + "evaluation: {on: train}\n",
        "5:18: evaluation.on: data set 'generated' makes a client's samples only when it trains",
    ),
    "no samples of clients' own": (
        GOOD.replace(PICTURES, "data: {dataset: generated}") + "evaluation: {on: clients}\n",
        "5:18: evaluation.on: data set 'generated' makes a client's samples only when it trains",
    ),
    "nothing kept aside": (
        GOOD + "evaluation: {on: clients}\n",
        "5:18: evaluation.on: no client keeps samples aside to evaluate on; give a share in ",
    ),
    "own models on a common test set": (
        GOOD.replace("model: mlp", "model: {name: mlp, personal: ['*.bias']}"),
        "1:1: evaluation.on: with personal layers each client has its own model, so ",
    ),
    "personal layers where nobody can keep a sample aside": (  # not: use test, which is refused
        GOOD.replace(PICTURES, "data: {dataset: generated}").replace(
            "model: mlp", "model: {name: mlp, personal: ['*.bias']}"
        )
        + "evaluation: {on: clients}\n",
        "2:30: model.personal: data set 'generated' makes a client's samples only when it trains: ",
    ),
    "personal layers of updates that are kept back": (
        GOOD.replace(PICTURES, PICTURES[:-1] + ", local_validation: 20%}").replace(
            "model: mlp", "model: {name: mlp, personal: ['*.bias']}"
        )
        + "evaluation: {on: clients}\ntraining: {filter: cmfl}\n",
        "6:20: training.filter: filter 'cmfl' keeps updates back on devices, and what then becomes",
    ),
    "personal epochs where nothing is personal": (
        GOOD + "training: {epochs: 2, personal_epochs: 1}\n",
        "5:40: training.personal_epochs: no parameters are personal; name them in `model.personal`",
    ),
    "personal epochs where all is": (
        ALTERNATING.replace("3.*", "*"),
        "6:40: training.personal_epochs: all parameters are personal, so the epochs after these ",
    ),
    "updates where all is personal": (
        PERSONAL + "selection: clustered\n",
        "6:12: selection: selector 'clustered' looks at what clients send, and that is nothing",
    ),
    "gradients where all is personal": (
        PERSONAL + "selection: divfl\n",
        "6:12: selection: selector 'divfl' looks at what clients send, and that is nothing, since",
    ),
    "no epoch left for what is shared": (
        ALTERNATING.replace("_epochs: 1", "_epochs: 2"),
        "6:40: training.personal_epochs: of 2 epochs it leaves none for shared parameters",
    ),
    "personal epochs of steps": (
        ALTERNATING.replace("epochs: 2,", "steps: 2,"),
        "6:39: training.personal_epochs: local work is counted in `steps`; give `epochs`",
    ),
    "personal epochs before a coreset": (
        ALTERNATING.replace("epochs: 1", "epochs: 1, workload: coreset"),
        "6:40: training.personal_epochs: can't go with workload 'coreset', whose last epochs are ",
    ),
    "steps of which some are of personal layers": (
        ALTERNATING + "aggregation: fednova\n",
        "7:14: aggregation: aggregator 'fednova' weighs updates by a client's steps, some of which",
    ),
    "gradients of steps that are of personal layers": (
        ALTERNATING + "aggregation: scaffold\n",
        "7:14: aggregation: aggregator 'scaffold' reads gradients off plain SGD by all steps, some",
    ),
    "a loss for other targets": (
        GOOD.replace(PICTURES, "data: {dataset: synthetic_regression}").replace(
            "mlp", "{name: mlp, hidden: []}"
        ),
        "1:1: training.loss: loss 'cross_entropy' is for classes, but the targets of data set "
        "'synthetic_regression' are numbers; use mean_squared_error",
    ),
    "too many classes for one output": (
        GOOD + "training: {loss: binary_cross_entropy}\n",
        "5:18: training.loss: loss 'binary_cross_entropy' tells two classes apart, but there are",
    ),
    "no accuracy to wait for": (
        GOOD.replace(PICTURES, "data: {dataset: synthetic_regression}").replace(
            "mlp", "{name: mlp, hidden: []}"
        )
        + "training: {loss: mean_squared_error}\nevaluation: {targets: [90%]}\n",
        "5:18: training.loss: loss 'mean_squared_error' has no accuracy, so neither",
    ),
    "no trace": (
        GOOD.replace("count: 8", "count: 8, availability: {name: trace, file: none.csv}"),
        "3:33: fleet[0].availability: can't read the availability trace",
    ),
    "wrong columns": (
        GOOD.replace("count: 8", "count: 8, availability: {name: trace, file: s.yaml}"),
        "3:33: fleet[0].availability: ",
    ),
    "no rates": (
        GOOD + "network: {rates: {file: none.csv}}\n",
        "5:10: network: can't read",
    ),
    "within a component": (
        GOOD.replace(
            "count: 8",
            "count: 8, availability: {name: outages, between: 1 h, lasting: 1 min, "
            "base: {name: trace, file: none.csv}}",
        ),
        "3:85: fleet[0].availability.base: can't read the availability trace",
    ),
    "never online": (
        GOOD.replace("count: 8", "count: 8, availability: {name: markov, p_become_on: 0}"),
        "3:8: fleet: no device is ever online",
    ),
    "tiers": (
        GOOD.replace("clients: 4", "clients: 4, policy: {name: tiered, tiers: 6}")
        + "aggregation: fedat\n",
        "5:14: aggregation: aggregator 'fedat' mixes 5 tiers, but policy 'tiered' has 6; give both",
    ),
    "no mean at edges": (
        GOOD.replace("clients: 4", "clients: 4, policy: hierarchical") + "aggregation: fedadam\n",
        "5:14: aggregation: aggregator 'fedadam' can't go with policy 'hierarchical', by which",
    ),
    "no cells to be edges": (
        GOOD.replace("clients: 4", "clients: 4, policy: {name: hierarchical, edges: cells}"),
        "3:8: fleet[0]: has no `cell`, and edges are the cells of the network",
    ),
    "more edges than devices": (
        GOOD.replace("clients: 4", "clients: 4, policy: {name: hierarchical, edges: 9}"),
        "4:30: rounds.policy: policy 'hierarchical' has 9 edges, but the fleet has only 8 devices",
    ),
    "more tiers than devices": (
        GOOD.replace("clients: 4", "clients: 4, policy: {name: tiered, tiers: 9}"),
        "4:30: rounds.policy: policy 'tiered' has 9 tiers, but the fleet has only 8 devices",
    ),
    "more tiers to select from than devices": (
        GOOD + "selection: {name: tifl, tiers: 9}\n",
        "5:12: selection: selector 'tifl' has 9 tiers, but the fleet has only 8 devices",
    ),
    "tiers by answers that take no time": (
        GOOD + "selection: {name: tifl, tiers: 2, charge_probes: false}\n",
        "5:12: selection: selector 'tifl' makes tiers by how long clients take to answer, and with",
    ),
    "a link of the server's own beside edges": (
        GOOD.replace("clients: 4", "clients: 4, policy: hierarchical")
        + "network: {server_uplink: 1 Mbit/s}\n",
        "5:26: network.server_uplink: under policy 'hierarchical' no client has a link to the",
    ),
    "a filter beside edges": (
        GOOD.replace("clients: 4", "clients: 4, policy: hierarchical")
        + "training: {filter: cmfl}\n",
        "4:30: rounds.policy: policy 'hierarchical' can't go with filter 'cmfl', by which clients",
    ),
    "no tiers": (
        GOOD + "aggregation: fedat\n",
        "5:14: aggregation: aggregator 'fedat' mixes 5 tiers, but policy 'synchronous' has but "
        "one, of all clients",
    ),
    "one tier": (
        GOOD.replace("clients: 4", "clients: 4, policy: {name: tiered, tiers: 1}")
        + "aggregation: fedat\n",
        "5:14: aggregation: aggregator 'fedat' mixes 5 tiers, but policy 'tiered' has but one",
    ),
    "a correlation of what follows the data sizes": (
        GOOD.replace("count: 8", "count: 8, compute: {distribution: data_size, mean: 9 samples/s, "
        "std: 1 samples/s}, uplink: {distribution: exponential, mean: 1 Mbit/s}")
        + "correlate: {compute~uplink: 0.9}\n",
        "5:12: correlate: compute can't be correlated: fleet[0] has it follow the data sizes",
    ),
    "nothing to test on": (
        GOOD.replace("size: 6}", "size: 6}, partition: power_law_two_digits, test_share: 0")
        .replace("count: 8", "count: 10"),
        "1:111: data.test_share: must be above 0",
    ),
    "updates withheld": (
        GOOD.replace("clients: 4", "clients: 4, policy: tiered") + "training: {filter: cmfl}\n",
        "4:30: rounds.policy: policy 'tiered' needs `rounds.stop` to name a time",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), CASES.values(), ids=CASES)
def test_it_is_told_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    [line] = told(text, tmp_path)
    assert line.startswith(message)


def test_a_misspelt_key_hides_no_file_that_is_not_there(tmp_path: Path) -> None:
    """A trace and weights that were not there were told of once the key was mended."""
    (tmp_path / "mode.pt").touch()
    fleet = "fleet:\n  count: 8\n  uplnk: 1 Mbit/s\n  availability: {name: trace, file: on.csv}\n"
    text = f"data: {{dataset: synthetic}}\nmodel: {{name: mlp, weights_file: model.pt}}\n{fleet}"
    weights, key, trace = told(text, tmp_path)
    similar = f"; did you mean '{tmp_path / 'mode.pt'}'?"
    assert weights.endswith(f" model.weights_file: {tmp_path / 'model.pt'}: no such file{similar}")
    assert key.startswith("5:3: fleet.uplnk: unknown key 'uplnk'")
    assert trace == f"6:37: fleet.availability.file: {tmp_path / 'on.csv'}: no such file"
    (tmp_path / "on.csv").touch()
    assert told(text.replace("model.pt", "mode.pt"), tmp_path) == [key]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("data: {dataset: {name: npz, path: NAME}}\n", "1:35: data.dataset.path: no file"),
        ("model: {name: mlp, weights_file: NAME}\n", "1:34: model.weights_file: no file"),
        ("network: {rates: {file: NAME}}\n", "1:25: network.rates.file: no file"),
        ("folder: NAME\n", "1:9: folder: no folder"),
    ],
)
def test_a_name_that_nothing_can_have_is_told_with_its_place(
    text: str, place: str, tmp_path: Path
) -> None:
    """A NUL was an internal error, and of a name far too long no place was told."""
    for name, why in (('"a\\0b"', "it holds a NUL character"), ("a" * 5000, "it is too long")):
        [line] = told(text.replace("NAME", name), tmp_path)
        assert line == f"{place} can have such a name: {why}"


@pytest.mark.parametrize(
    "changes",
    [
        ["rounds.stop.rounds=null", "rounds.stop.accuracy=90%"],
        ["rounds.stop.rounds=null", "rounds.stop.target=loss 0.5"],
        ["selection=power_of_choice"],
        ["training.filter=cmfl"],
    ],
)
def test_time_only_is_refused_alike_by_checking_and_running(
    changes: list[str], tmp_path: Path
) -> None:
    scenario = Scenario.from_dict({**Document.parse(GOOD).data}, overrides=changes)
    variants = {run.variant: run.scenario for run in expand(scenario)}
    refuse(variants)
    with pytest.raises(ScenarioError) as checked:
        refuse(variants, trains=False)
    with pytest.raises(InputError) as refused:
        run(scenario, tmp_path / "out", Options(time_only=True))
    assert str(checked.value) == str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("begins", "period", "words"),
    [
        (1_600_000_000, ", period: 24 h", "begins at 1600000000 s, when its period of 86400 s is"),
        (1_600_000_000, "", "begins at 1600000000 s; times have to count from 0"),
        (1_600_000_000_000, "", "begins at 1600000000000 s; times have to count from 0"),  # ms
        (86_400, ", period: 24 h", "begins at 86400 s, when its period of 86400 s is over; times"),
        (86_399, ", period: 24 h", ""),
        (86_400, "", ""),
    ],
)
def test_recorded_availability_counts_from_zero(
    tmp_path: Path, begins: int, period: str, words: str
) -> None:
    rows = "".join(f"{n},{begins},{begins + 90_000}\n" for n in range(8))
    (tmp_path / "unix.csv").write_text(f"device,start_s,end_s\n{rows}")
    trace = f"count: 8, availability: {{name: trace, shift: false, file: unix.csv{period}}}"
    lines = told(GOOD.replace("count: 8", trace), tmp_path)
    expected = f"3:33: fleet[0].availability: unix.csv {words}"
    assert [line[: len(expected)] for line in lines[:1]] == [expected] * bool(words)


def test_a_variant_is_named_unless_all_are_meant(tmp_path: Path) -> None:
    variants = "variants:\n  a: {model: fedacs_cnn}\n  b: {training.epochs: 2}\n"
    [line] = told(GOOD + variants, tmp_path)
    assert line.endswith("(in variant 'a')")
    [line] = told(GOOD.replace("mlp", "fedacs_cnn") + variants.replace("fedacs_cnn", "dp3s_cnn")
                  .replace("a: {model: dp3s_cnn}", "a: {}"), tmp_path)  # fmt: skip
    assert "in variant" not in line


def test_all_components_are_asked(tmp_path: Path) -> None:
    data: dict[str, Any] = Document.parse(GOOD).data | {"training": {"workload": "coreset"}}
    names = {".".join(map(str, path)) for path, _ in components(Scenario.from_dict(data))}
    assert {"training.workload.method", "fleet.0.availability", "rounds.policy"} <= names


def test_a_component_that_raises_is_told_as_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_objector.py").write_text(
        "from simfl.components.selectors.uniform import Uniform\n"
        "class Odd(Uniform):\n"
        "    def objections(self, circumstances):\n"
        "        yield str(1 / 0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        InputError, match=r"can't go with: ZeroDivisionError: .*odd_objector.py:4\)"
    ):
        Scenario.from_dict({**Document.parse(GOOD).data, "selection": "odd_objector:Odd"})


def test_a_component_objects_to_nothing_of_its_own_accord() -> None:
    class Plain(Component):
        pass

    assert not list(Plain().objections(circumstances()))


def test_samples_that_only_some_seeds_have_are_checked_of_each(tmp_path: Path) -> None:
    """One seed stood for all: `validate` found nothing, and others failed after hours."""
    (tmp_path / "trace.csv").write_text("n,speed\n" + "5,9\n" * 7 + "120,9\n")
    columns = "columns: {compute: {column: speed, unit: samples/s}}"
    file = tmp_path / "s.yaml"
    trace = f"fleet: {{count: 8, trace: {{file: trace.csv, samples: n, {columns}}}}}"
    file.write_text(GOOD.replace("fleet: {count: 8}", f"{trace}\nseeds: 0-4"))
    assert main(["validate", str(file)]) == 2
    with pytest.raises(ScenarioError, match="in variant 'default seed 2'"):
        run(Document.load(file), tmp_path / "runs", Options(time_only=True))
    assert not (tmp_path / "runs").exists()
