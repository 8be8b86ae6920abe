"""`simfl list` and `simfl describe`: every component, key and column."""

import json
import re
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.core.rows import PrivateRoundRow, header
from simfl.core.units import DIMENSIONS
from simfl.runs.folder.event_kinds import EVENT_KINDS
from simfl.runs.folder.summary import MEANINGS
from simfl.scenario.distributions import DISTRIBUTIONS
from simfl.scenario.parts.catalogue import catalogue
from simfl.scenario.reference.kinds import KINDS, registry
from simfl.scenario.reference.references import bibtex
from tests.cli.printing import printed

ALL = [
    *((kind, name) for kind in KINDS for name in registry(kind).names()),
    *(("distributions", name) for name in DISTRIBUTIONS),
    *(("devices", name) for name in catalogue()),
]


def test_list_has_a_line_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list").splitlines()
    for kind in (*KINDS, "distributions", "devices"):
        assert f"{kind}:" in lines
    found = json.loads(printed(capsys, "list", "--json"))
    assert [(kind, name) for kind, members in found.items() for name in members] == ALL
    assert all(text for members in found.values() for text in members.values())
    assert len(lines) == len(ALL) + len(KINDS) + 2


@pytest.mark.parametrize("columns", [60, 80])
def test_a_list_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    whole = printed(capsys, "list", "datasets").splitlines()
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = printed(capsys, "list", "datasets").splitlines()
    assert max(map(len, lines)) <= columns
    left = len("synthetic_regression  ")
    assert [line.split()[0] for line in lines if line[0] != " "] == registry("datasets").names()
    assert all(line[:left].isspace() and line[left] != " " for line in lines if line[0] == " ")
    assert " ".join(lines).split() == " ".join(whole).split()
    monkeypatch.setenv("COLUMNS", "200")
    assert printed(capsys, "list", "datasets").splitlines() == whole


@pytest.mark.parametrize("told", ["availability diurnal", "rounds.csv", "selector"])
def test_a_description_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    """It had 96 columns, whatever the terminal had."""
    whole = printed(capsys, "describe", *told.split())
    monkeypatch.setenv("COLUMNS", "50")
    narrow = printed(capsys, "describe", *told.split())
    assert max(map(len, narrow.splitlines())) <= 50 < max(map(len, whole.splitlines()))
    assert narrow.split() == whole.split()


@pytest.mark.parametrize(
    ("path", "meant"),
    [("training.epoch", "training.epochs"), ("data.datset", "data.dataset")],
)
def test_of_a_misspelt_path_its_section_is_not_what_was_meant(
    path: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", path]) == 2
    assert f"did you mean {meant!r}?" in capsys.readouterr().err


def test_what_is_to_be_cited_is_never_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    told = printed(capsys, "describe", "selectors", "oort")
    assert f"\n\nTo cite:\n{bibtex('selectors', 'oort')}\n\nCode: " in told


def test_list_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "list", "selectors").splitlines()
    assert [line.split()[0] for line in lines] == registry("selectors").names()

    assert printed(capsys, "list", "selector").splitlines() == lines
    assert printed(capsys, "list", "policy") == printed(capsys, "list", "policies")
    assert printed(capsys, "list", "device") == printed(capsys, "list", "devices")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("rounds.stop", "a mapping with the options below (default {rounds: 100})"),
        (
            "fleet.battery.start",
            "a share, such as 30% or 0.3, or a mapping with the options below (default 100%)",
        ),
        ("tune.under", "a mapping with the options below (default that of each of its options)"),
        ("tune", "a mapping with the options below (default none)"),
    ],
)
def test_the_default_of_a_section_is_what_stands_there_if_it_is_left_out(
    path: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without `rounds.stop` ends after 100 rounds, of which nothing was said."""
    assert f": {told}\n" in printed(capsys, "describe", path)


def test_describe_without_a_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "describe", "oort") == printed(capsys, "describe", "selectors", "oort")
    assert printed(capsys, "describe", "phone-mid").startswith("phone-mid (device class)\n")
    assert main(["describe", "ort"]) == 2
    assert "unknown component or key 'ort'; did you mean 'oort'?" in capsys.readouterr().err


def test_components_of_several_kinds_are_described_one_by_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They were refused with two commands, where both meanings of `deadline` were printed."""
    kinds = ("policies", "aggregators")
    each = [printed(capsys, "describe", kind, "fedbuff") for kind in kinds]
    assert printed(capsys, "describe", "fedbuff") == "\n".join(each)
    told = json.loads(printed(capsys, "describe", "top_k", "--json"))
    assert [one["kind"] for one in told] == ["metric", "compressor"]


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            "FedProx",
            "`simfl describe workloads partial_epochs`, `simfl describe workloads random_epochs`, "
            "`simfl describe training.proximal`",
        ),
        ("fedavg-ds", "`simfl describe workloads full`"),
        ("qsgd", "`simfl describe compressors quantize`"),
        (
            "FedAvg",
            "`simfl describe selectors uniform`, `simfl describe workloads full`, "
            "`simfl describe aggregators fedavg`",
        ),
    ],
)
def test_a_method_that_goes_by_other_names(
    method: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The README's table of methods is what newcomers ask for first."""
    assert main(["describe", method]) == 2
    assert capsys.readouterr().err.endswith(f"{method!r}; what papers call so: {told}\n")


def test_a_component_of_ones_own_is_described_with_its_kind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`mine.py:Net` alone was answered with "did you mean 'min'?"."""
    assert main(["describe", "mine.py:Net"]) == 2
    told = "'mine.py:Net'; say of which kind it is, such as `simfl describe datasets mine.py:Net`\n"
    assert capsys.readouterr().err.endswith(told)


@pytest.mark.parametrize(
    ("module", "component", "source"),
    [
        ("Source: me, 2026.", "Takes all.", "me, 2026."),
        ("Takes all.\n\nMe, 2026.", "It does.", "Takes all.\n\nMe, 2026."),
        ("My selectors.", "Takes all.\n\n    Source: me, 2026.", "me, 2026."),
    ],
)
def test_the_source_of_a_component_of_ones_own(
    module: str,
    component: str,
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was told twice where the docstrings tell it by that word."""
    monkeypatch.chdir(tmp_path)
    file = f"sourced{len(module)}{len(component)}.py"  # of which none is imported yet
    imported = "from simfl.components.selectors.round_robin import RoundRobin"
    written = [f'"""{module}"""', imported, "class Mine(RoundRobin):", f'    """{component}"""']
    Path(file).write_text("\n".join(written))
    command = ["describe", "selector", f"{file}:Mine", "--allow-code"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert f"\n\nSource: {source}\n\nCode: " in told
    assert told.count("Source:") == 1


@pytest.mark.parametrize("kind", ["losses", "loss", "devices", "availability", "distribution"])
def test_describing_a_kind_lists_it(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "describe", kind) == printed(capsys, "list", kind)
    told = printed(capsys, "describe", kind, "--json")
    assert told == printed(capsys, "list", kind, "--json")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("fleet", "fleet (key of a scenario)"),
        ("fleet", "uplink: a data rate, or a distribution (default unlimited)"),
        ("fleet", "trace: a mapping, or a list of mappings: see `simfl describe fleet.trace`"),
        ("fleet.count", "count: whole number >= 1, <= 1000000000 (default none) number of devi"),
        ("data", "partition: a partition, by name or with options (default none) who holds"),
        ("data", "dataset: a dataset, by name or with options (required)"),
        ("rounds.clients", "clients (default none) selected per round: a number, or a share of"),
        ("rounds.stop", "time: a duration > 0 | null (default none) virtual time; units: us, ms"),
        ("stop", "rounds.stop (key of a scenario)"),
        ("fleet[0].trace", "columns: a mapping of names to mappings: see `simfl describe fleet."),
        ("deadline", "rounds.policy.deadline (option of policies synchronous)"),
        ("rounds.policy", "One of: fedasync, fedbuff, hierarchical, semi_synchronous, synchronous"),
        ("model.frozen", "model.frozen (option of all models)"),
        ("folder", "folder: path | null (default none) folder of the files"),
        ("training.optimizer.lr", "lr (option of optimizers adam, adamw)"),
        ("per_client", "(option of partitions shards)"),
        ("random", "simfl describe sweep.random"),
        ("fleet.compute", "Distributions: constant, normal, lognormal, uniform, exponential, zipf"),
        ("lognormal", "median: quantity | null (default none)"),
        ("uniform", "so too: `simfl describe distributions uniform`"),
        ("network", "network (key of a scenario) network: a network, by name or with options"),
        ("model", "(simfl describe models NAME; simfl list models)"),
        ("coreset", "coreset (workload) Full training if it fits"),
        ("coreset", "A kind of components is called so too: `simfl list coresets`"),
    ],
)
def test_keys_of_scenarios_are_described(
    path: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in " ".join(printed(capsys, "describe", path).split())


def test_a_key_of_a_section_is_described_with_a_space_for_the_dot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All kinds of components were listed, of which `rounds` is none."""
    for section, key in (
        ("rounds", "stop"),
        ("policy", "over_select"),
        ("training.optimizer", "lr"),
    ):
        assert printed(capsys, "describe", section, key) == printed(
            capsys, "describe", f"{section}.{key}"
        )
    assert main(["describe", "rounds", "stpo"]) == 2
    assert "unknown key of rounds 'stpo'; did you mean 'stop'?" in capsys.readouterr().err


def test_units_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    """MFLOP/s was answered with 'mlflow'."""
    assert "  MFLOP/s  1,000,000 FLOP/s\n" in printed(capsys, "describe", "MFLOP/s")
    told = printed(capsys, "describe", "MB/s")
    assert told.startswith("a data rate (such as 10 Mbit/s)\n\n  bit/s   1 bit/s\n")
    assert "  MB/s    8,000,000 bit/s\n" in told
    kinds = json.loads(printed(capsys, "describe", "units", "--json"))
    assert [kind["kind"] for kind in kinds] == [dimension.name for dimension in DIMENSIONS]
    assert all(1 in kind["units"].values() for kind in kinds)


def test_columns_of_runs_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, "describe", "rounds.csv")
    columns = [line[2:] for line in told.splitlines() if re.match("  [a-z]", line)]
    assert columns == header(PrivateRoundRow)
    assert "Of the bytes down and up, those of" in printed(capsys, "describe", "wasted_bytes")
    clients = " ".join(printed(capsys, "describe", "clients.csv").split())
    assert "late: cut off or too late, or its round was abandoned; offline: the device" in clients
    keys = json.loads(printed(capsys, "describe", "summary.json", "--json"))["columns"]
    assert keys == MEANINGS
    assert [
        one["file"] for one in json.loads(printed(capsys, "describe", "energy_j", "--json"))
    ] == ["rounds.csv", "clients.csv", "summary.json"]
    accuracy = printed(capsys, "describe", "accuracy")  # a key of a scenario, first of all
    assert accuracy.startswith("rounds.stop.accuracy (key of a scenario)\n")
    assert "A column of rounds.csv is called so too: simfl describe rounds.csv" in accuracy


@pytest.mark.parametrize("word", ["provenance.json", "model.pt", "past-2.yaml", "checkpoint"])
def test_every_file_of_a_run_is_described(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`simfl describe provenance.json` was unknown, as was what is within a key of a summary."""
    assert re.match(r"[a-z*.-]+ \(in .*folder", printed(capsys, "describe", word))


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("backhaul_bytes", "  totals.backhaul_bytes\n      of those down and up"),
        ("trainings", "  trainings.open\n      still open"),
        ("refused_memory", "  refused_REASON\n"),
        ("host_s", "provenance.json (in every run's folder)\n"),
        ("needs_bytes", "events.jsonl (in every run's folder)\n"),  # of an event alone
    ],
)
def test_what_is_within_a_file_of_a_run_is_described(
    word: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in printed(capsys, "describe", word)


@pytest.mark.parametrize(
    ("word", "told"),
    [("epsilon", "A key of summary.json"), ("bytes", "A fact of an event of events")],
)
def test_where_several_keys_are_called_so_files_are_told_too(
    word: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The epsilon that a run has spent was hidden by those of an attack and of a tuning."""
    assert main(["describe", word]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("file", ["events", "events.jsonl", "events.jsonl.zst"])
def test_kinds_of_events_are_described(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They were nowhere: `unknown component or key 'events.jsonl'`."""
    told = printed(capsys, "describe", file)
    assert re.findall("^  ([a-z_]+)$", told, re.MULTILINE) == ["t", "event", *EVENT_KINDS]
    assert "needs_bytes: memory that training takes" in printed(capsys, "describe", "refused")
    target = printed(capsys, "describe", "target")  # a key of a scenario, first of all
    assert "A kind of event of events.jsonl is called so too: simfl describe events" in target


def test_what_is_like_nothing_is_told_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    """All 600 names were listed."""
    assert main(["describe", "xylophone.json"]) == 2
    told = "unknown component or key 'xylophone.json'; `simfl list` has the components, "
    assert told in (error := capsys.readouterr().err)
    assert len(error) < 200


def test_a_command_is_not_taken_for_a_misspelt_component(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["describe", "calibrate"]) == 2
    assert "'calibrate' is a command; see `simfl calibrate --help`" in capsys.readouterr().err


def test_keys_are_described_as_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(printed(capsys, "describe", "rounds.stop", "--json"))
    assert told["path"] == "rounds.stop"
    assert [option["name"] for option in told["options"]][:2] == ["rounds", "time"]
    several = json.loads(printed(capsys, "describe", "deadline", "--json"))
    assert [one["of"] for one in several] == [
        [["policies", "hierarchical"]],
        [["policies", "synchronous"]],
        [["policies", "tiered"]],
    ]


def test_names_of_several_keys_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "lr"]) == 2
    told = (
        "several keys are called 'lr'; describe one of:\n  training.optimizer.lr\n  aggregation.lr"
    )
    assert told in capsys.readouterr().err
    assert main(["describe", "fleat"]) == 2
    assert "did you mean 'fleet'?" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_describe_everything(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "describe", kind, name)
    found = json.loads(printed(capsys, "describe", kind, name, "--json"))
    assert text.startswith(f"{name} ({found['kind']})\n")
    assert found["module"].startswith("simfl.")
    assert found["text"]
    for option in found["options"]:
        assert f"\n  {option['name']}" in text
        assert option["description"], f"option {option['name']} of {kind} {name} is not described"


def test_describe_tells_units_defaults_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "describe", "networks", "shared")
    assert "server_uplink: a data rate (default unlimited)" in text
    assert "units: bit/s, kbit/s, Mbit/s, Gbit/s" in " ".join(text.split())
    text = printed(capsys, "describe", "workload", "coreset")
    assert "method: a coreset, by name or with options (default k_medoids)" in text
    assert "arXiv:2402.00219" in text


@pytest.mark.parametrize(
    ("kind", "meant"), [("distribtions", "distributions"), ("devces", "devices")]
)
def test_all_that_can_be_listed_is_what_may_be_meant(
    kind: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Distributions and devices are listed as components are, and were no kinds for it."""
    for words in (["list", kind], ["describe", kind, "uniform"]):
        assert main(words) == 2
        assert f"unknown kind {kind!r}; did you mean {meant!r}?" in capsys.readouterr().err
