"""Broken scenarios: each is refused with its line, without a traceback, leaving nothing behind."""

# ruff: noqa: E501  (a table reads best with a line a case)

import os
from pathlib import Path

import pytest

from simfl.cli import main
from tests.cli.refusals import GOOD, refused

# What to replace, by what, and the line, column and words that the message must have.
BROKEN = {
    "more updates than a round takes": ("policy: {name: synchronous, deadline: {stragglers: 30%}}", "policy: {name: synchronous, min_updates: 1000}", "23:11: rounds.policy", "min_updates: 1000 updates, but a round takes only"),
    "too small a share": ("policy: {name: synchronous, deadline: {stragglers: 30%}}", "policy: {name: synchronous, over_select: 0.3}", "23:44: rounds.policy.over_select", "must be at least 100%, but got 30%"),
    "too long a plateau": ("    count: 10\n", "    count: 10\n    availability: {name: diurnal, length: 30 h}\n", "", "availability.length: must be at most 1 d, but got 30 h"),
    "unknown key": ("  batch_size: 8", "  batch_sise: 8", "19:3: training.batch_sise", "mean 'batch_size'"),
    "unknown key of a group": ("    uplink: 10", "    uplnk: 10", "12:5: fleet[0].uplnk", "mean 'uplink'"),
    "unknown key of a distribution": ("    count: 10\n", "    count: 10\n    latency: {distribution: lognormal, median: 1 s, sgima: 1}\n", "16:53: fleet[1].latency.sgima", "unknown key 'sgima'; did you mean 'sigma'?"),
    "unknown key at the top": ("evaluation:", "evaluatoin:", "27:1: evaluatoin", "mean 'evaluation'"),
    "a path for a key": ("  partition: natural\n", "data.partition: natural\n", "5:1: data.partition", "write it nested, `data: {partition: ...}`;"),
    "a path with a slash": ("training.proximal: 1", "training/proximal: 1", "30:48: training/proximal", "write it nested, `training: {proximal: ...}`"),
    "equals for a colon": ("alpha: 1, beta: 1", "alpha: 1, beta=1", "4:40: data.dataset.beta=1", "unknown key 'beta=1'; write it `beta: 1`"),
    "no space after a colon in braces": ("alpha: 1, beta: 1", "alpha: 1, beta:1", "4:40: data.dataset.beta:1", "unknown key 'beta:1'; write it `beta: 1`"),
    "no space after a colon of a range": ("network: {}", "tune: {objective: loss, parameters: {training.epochs: {min: 1, max:2}}}", "32:64: tune.parameters.training.epochs.max:2", "unknown key 'max:2'; write it `max: 2`"),
    "no space after a name's colon": ("optimizer: {name: sgd,", "optimizer: {name:sgd,", "20:14: training.optimizer", "'name:sgd' is written `name: sgd`, with a space"),
    "a colon in text": ("network: {}", "name: a: b", "32:8: is no valid YAML", "text that has ': ' in it stands in quotes"),
    "a sign that text can't begin with": ("network: {}", "name: @home", "32:7: is no valid YAML", "text that begins with @ stands in quotes"),
    "typo in one of three words": ("    count: 10\n", "    count: 10\n    on_offline: puase\n", "16:17: fleet[1].on_offline", "got 'puase'; did you mean 'pause'?"),
    "a list for a file": ("    count: 10\n", "    count: 10\n    availability: {name: trace, file: [a.csv]}\n", "16:39: fleet[1].availability.file", "expected the name of a file, got ['a.csv']"),
    "a path of two dots": ("    count: 10\n", "    power.battery.capacity: 3 Wh\n    count: 10\n", "15:5: fleet[1].power.battery.capacity", "`power: {battery: {capacity: ...}}`"),
    "unknown section": ("seeds: [0, 1]", "plots: yes", "31:1: plots: unknown key 'plots'", "selection"),
    "typo in a name": ("selection: uniform", "selection: unifrom", "26:12: selection", "mean 'uniform'"),
    "a paper's name": ("selection: uniform", "selection: random", "26:12: selection", "unknown selector 'random'; what papers call so: `simfl describe selectors uniform`"),
    "a paper's name for another kind": ("selection: uniform", "aggregation: fedprox", "26:14: aggregation", "trimmed_mean; what papers call so: `simfl describe workloads partial_epochs`, `simfl describe workloads random_epochs`, `simfl describe training.proximal`"),
    "typo in a data set": ("name: synthetic", "name: sinthetic", "4:12: data.dataset", "'synthetic'"),
    "typo in a model": ("logistic_regression", "logistic_regresion", "6:8: model", "mean 'logistic_"),
    "typo in a nested name": ("method: k_medoids", "method: kmedoids", "21:37: training.workload.method", "k_medoids"),
    "unknown option": ("alpha: 1, beta: 1", "alpha: 1, betta: 1", "4:40: data.dataset.betta", "'beta'"),
    "unknown option below": ("{stragglers: 30%}", "{straglers: 30%}", "23:42: rounds.policy.deadline.straglers", "'stragglers'"),
    "unknown distribution": ("distribution: normal", "distribution: gaussian", "10:14: fleet[0].compute", "'gaussian'"),
    "unknown parameter": ("std: 1 samples/s", "stdd: 1 samples/s", "10:56: fleet[0].compute.stdd", "mean 'std'"),
    "missing unit": ("uplink: 10 Mbit/s", "uplink: 10", "12:13: fleet[0].uplink", "add a unit: bit/s, kbit/s"),
    "bits or bytes": ("uplink: 10 Mbit/s", "uplink: 10 Mb/s", "12:13: fleet[0].uplink", "'Mbit/s' or 'MB/s'"),
    "a size for a rate": ("uplink: 10 Mbit/s", "uplink: 10 MB", "12:13: fleet[0].uplink", "a data size; units that fit"),
    "milli for mega": ("uplink: 10 Mbit/s", "uplink: 10 mbit/s", "12:13: fleet[0].uplink", "mean 'Mbit/s'"),
    "negative duration": ("latency: 20 ms", "latency: -20 ms", "13:14: fleet[0].latency", "can't be negative"),
    "infinite duration": ("latency: 20 ms", "latency: inf s", "13:14: fleet[0].latency", "finite"),
    "two jitters of one speed": ("    count: 10\n", "    count: 10\n    compute_jitter: {sigma: 0.2, anew: 3 samples/s}\n", "16:21: fleet[1].compute_jitter", "expected either `sigma` or `anew`"),
    "FLOP/s drawn anew": ("    count: 10\n", "    count: 10\n    compute_jitter: {anew: 3 GFLOP/s}\n", "16:21: fleet[1].compute_jitter", "expected `anew` in samples/s or ms/sample, got FLOP/s"),
    "no rate at all": ("compute: 3 samples/s", "compute: 0 samples/s", "16:14: fleet[1].compute", "above zero"),
    "mixed rates": ("std: 1 samples/s", "std: 1 GFLOP/s", "10:61: fleet[0].compute.std", "in FLOP/s; units that fit: samples/s"),
    "reaches zero": (", min: 1 samples/s", "", "10:14: fleet[0].compute", "give it a larger `min`"),
    "empty interval": ("min: 1 samples/s", "min: 2 samples/s, max: 1 samples/s", "10:14: fleet[0].compute", "`min` must be below"),
    "negative count": ("count: 20", "count: -20", "9:12: fleet[0].count", "at least 1, but got -20"),
    "a negative end of two": ("    count: 10\n", "    count: 10\n    battery: {capacity: 2 Wh, start: {min: -5%, max: 90%}}\n", "16:44: fleet[1].battery.start.min: a share can't be negative, got '-5%'", ""),
    "one end of two": ("    count: 10\n", "    count: 10\n    battery: {capacity: 2 Wh, start: {min: 5%}}\n", "16:38: fleet[1].battery.start: missing key 'max'", ""),
    "fractional count": ("count: 20", "count: 2.5", "9:12: fleet[0].count", "whole number, got 2.5"),
    "wordy count": ("count: 20", "count: twenty", "9:12: fleet[0].count", "whole number, got 'twenty'"),
    "truth for a count": ("batch_size: 8", "batch_size: true", "19:15: training.batch_size", "whole number"),
    "truth for a number": ("lr: 0.01", "lr: true", "20:30: training.optimizer.lr", "expected a number, got true"),
    "truth for an option": ("alpha: 1, beta", "alpha: false, beta", "4:37: data.dataset.alpha", "expected a number"),
    "infinite option": ("alpha: 1, beta", "alpha: .inf, beta", "4:37: data.dataset.alpha", "finite"),
    "too many to count": ("count: 20", "count: 1000000000000000000000", "9:12: fleet[0].count", "at most 1,000,000,000"),
    "a list for a section": ("stop: {rounds: 100}", "stop: [100]", "25:9: rounds.stop", "a mapping with any of accuracy, bytes, energy, epsilon, rounds, target, time, got [100]"),
    "a number for an optimizer": ("optimizer: {name: sgd, lr: 0.01}", "optimizer: 0.01", "20:14: training.optimizer", "the name of an optimizer or a mapping"),
    "one target": ("targets: [0.7]", "targets: 80%", "27:33: evaluation.targets", "expected a list, got '80%'; write it `[80%]`"),
    "one target in points": ("targets: [0.7]", "targets: 80", "27:33: evaluation.targets", "expected a list, got 80; write it `[80%]`"),
    "a range in a sweep": ("network: {}", "sweep: {rounds.clients: 1-3}", "32:25: sweep.rounds.clients", "expected a list, got '1-3'; write it `[1, 2, 3]`"),
    "a long range in a sweep": ("network: {}", "sweep: {rounds.clients: 1-30}", "32:25: sweep.rounds.clients", "write it `[1, 2, ..., 30]`"),
    "the beginning of a key": ("name: synthetic, alpha: 1, beta: 1", "name: torch, dataset: 'mine.py:train', test: {seed: 1}", "4:52: data.dataset.test", "did you mean 'test_arguments'?"),
    "the beginning of several keys": ("name: synthetic, alpha: 1, beta: 1", "name: torch, dataset: 'mine.py:train', test: 'mine.py:test'", "4:52: data.dataset.test", "did you mean 'test_arguments' or 'test_dataset' or 'test_share'?"),
    "a name of another kind": ("network: {}", "log: [csv]", "32:7: log[0]", "wandb; elsewhere the name is of: `simfl describe datasets csv`"),
    "no unit of a column": ("compute: 3 samples/s", "compute: {distribution: empirical, file: t.csv, column: c, unit: 5 uniform}", "16:14: fleet[1].compute", "expected a unit of a compute rate, got '5 uniform'; one of: samples/s, FLOP/s"),
    "another unit of a column": ("downlink: 50 Mbit/s", "downlink: {distribution: empirical, file: t.csv, column: c, unit: mbit/s}", "11:15: fleet[0].downlink", "expected a unit of a data rate, got 'mbit/s'; unknown unit 'mbit/s', did you mean 'Mbit/s'?"),
    "one value of a distribution": ("compute: 3 samples/s", "compute: {distribution: choice, values: 3 samples/s}", "16:45: fleet[1].compute.values", "expected a list, got '3 samples/s'; write it `[3 samples/s]`"),
    "one width that no list takes": ("model: logistic_regression", "model: {name: mlp, hidden: -1}", "6:28: model.hidden", "expected a list, got -1\n"),
    "half a pair": ("workload: {name: coreset, method: k_medoids}", "workload: {name: fedsae, start: [3]}", "21:35: training.workload.start", "expected 2 of them, got [3]"),
    "no name": ("selection: uniform", 'selection: ""', "26:12: selection", "unknown selector ''; expected one of: afl, "),
    "none of what there always is": ("selection: uniform", "selection: none", "26:12: selection", "unknown selector 'none'; left out, it is 'uniform'\n"),
    "none of what need not be": ("    count: 10\n", "    count: 10\n    battery: {capacity: 2 Wh, plugged: none}\n", "16:40: fleet[1].battery.plugged", "unknown availability 'none'; left out, it is never\n"),
    "a time for a name": ("selection: uniform", "selection: 12:30", "26:12: selection", "unknown selector '12:30'; expected one of: afl"),
    "one pattern": ("model: logistic_regression", "model: {name: logistic_regression, frozen: '*.bias'}", "6:44: model.frozen", "expected a list, got '*.bias'; write it `['*.bias']`"),
    "a pattern without quotes": ("model: logistic_regression", "model: {name: logistic_regression, frozen: [*.bias]}", "6:46: is no valid YAML", "text that begins with * stands in quotes"),
    "a pattern that fits nothing": ("model: logistic_regression", "model: {name: logistic_regression, frozen: [1.bias, fc.*]}", "6:44: model.frozen", "no parameter matches 'fc.*'; there are 1.weight, 1.bias"),
    "a new head that is not there": ("model: logistic_regression", "model: {name: logistic_regression, reinitialised: [fc.*]}", "6:51: model.reinitialised", "no parameter matches 'fc.*'"),
    "everything frozen": ("model: logistic_regression", "model: {name: logistic_regression, frozen: ['*']}", "6:44: model.frozen", "has no parameters to train: all are frozen"),
    "a word for the fleet": (GOOD[GOOD.index("\n  - name: phones") : GOOD.index("\ntraining:")], " phones", "7:8: fleet", "such as {count: 10}, or a list of them, got 'phones'"),
    "a file for the fleet": (GOOD[GOOD.index("\n  - name: phones") : GOOD.index("\ntraining:")], " fleet.yaml", "7:8: fleet", "got 'fleet.yaml'; paste the section `fleet` of that file here"),
    "half a seed": ("seeds: [0, 1]", "seeds: 1.5", "31:8: seeds", "seeds such as 0-4 or [0, 1], got 1.5"),
    "a word for a sweep": ("network: {}", "sweep: often", "32:8: sweep", "expected a mapping, got 'often'"),
    "NaN": ("lr: 0.01", "lr: .nan", "20:30: training.optimizer.lr", "NaN"),
    "infinite rate of learning": ("lr: 0.01", "lr: .inf", "20:30: training.optimizer.lr", "finite"),
    "zero rate of learning": ("lr: 0.01", "lr: 0", "20:30: training.optimizer.lr", "above 0"),
    "more clients than devices": ("clients: 10", "clients: 31", "24:12: rounds.clients", "only 30 devices"),
    "no clients": ("clients: 10", "clients: 0", "24:12: rounds.clients", "at least 1"),
    "too large a share": ("clients: 10", "clients: 110%", "24:12: rounds.clients", "at most 100%"),
    "epochs and steps": ("  epochs: 10", "  epochs: 10\n  steps: 20", "18:3: training", "not both"),
    "coresets of steps": ("  epochs: 10", "  steps: 20", "21:13: training.workload", "needs `epochs`"),
    "twin groups": ("name: tablets", "name: phones", "14:11: fleet[1].name", "fleet[0]"),
    "no end": ("stop: {rounds: 100}", "stop: {}", "25:9: rounds.stop", "at least one of rounds"),
    "stop at a loss": ("stop: {rounds: 100}", "stop: {rounds: 100, loss: 0.5}", "25:23: rounds.stop.loss", "write it `target: loss 0.5`"),
    "target of nothing": ("targets: [0.7]", "targets: [0.7, lss 1]", "27:39: evaluation.targets[1]", "don't measure 'lss'; did you mean 'loss'?"),
    "stop at a bare name": ("stop: {rounds: 100}", "stop: {rounds: 100, target: loss}", "25:31: rounds.stop.target", "expected a target such as 'rmse 0.5', got 'loss'"),
    "target with a hyphen": ("targets: [0.7]", "targets: [0.7, ls-s 1]", "27:39: evaluation.targets[1]", "don't measure 'ls-s'; did you mean 'loss'?"),
    "target below all losses": ("targets: [0.7]", "targets: [0.7, loss -1]", "27:39: evaluation.targets[1]", "loss is at least 0, but got -1"),
    "epsilon for an option": ("selection: uniform", "aggregation: {name: dp_fedavg, clip: 1, noise_multiplier: 1, epsilon: 3}", "26:62: aggregation.epsilon", "unknown key 'epsilon'; did you mean 'rounds.stop.epsilon'?"),
    "target beyond one": ("targets: [0.7]", "targets: [0.7, 70]", "27:39: evaluation.targets[1]", "mean '70%'"),
    "target zero": ("targets: [0.7]", "targets: [0]", "27:34: evaluation.targets[0]", "above 0"),
    "negative seed": ("seed: 0", "seed: -1", "2:7: seed", "at least 0"),
    "seed twice": ("seeds: [0, 1]", "seeds: [0, 0]", "31:8: seeds", "seed 0 is listed twice"),
    "odd seeds": ("seeds: [0, 1]", "seeds: a-b", "31:8: seeds", "0-4"),
    "period without a unit": ("synchronous, deadline: {stragglers: 30%}", "semi_synchronous, period: 4", "23:44: rounds.policy.period", "h, d; or {stragglers: 30%}"),
    "no period": ("synchronous, deadline: {stragglers: 30%}", "semi_synchronous, period: none", "23:44: rounds.policy.period", "got 'none'; or {stragglers: 30%}"),
    "an option of another": ("selection: uniform", "selection: {name: uniform, candidates: 4}", "26:28: selection.candidates", "key 'candidates'; it is an option of selector 'power_of_choice'"),
    "an option of another, called as one elsewhere": ("seed: 0", "seed: 0\naggregation: {name: fedavg, lr: 0.5}", "3:29: aggregation.lr", "unknown key 'lr'; it is an option of aggregator 'dp_fedavg_adaptive', 'fedadagrad', 'fedadam', 'fedavgm', 'fedbuff', 'fedyogi' or 'scaffold'"),
    "a number of another distribution": ("compute: 3 samples/s", "compute: {distribution: uniform, median: 1 samples/s, max: 3 samples/s}", "16:38: fleet[1].compute.median", "unknown key 'median'; it is an option of distribution 'lognormal'"),
    "a number of a distribution elsewhere": ("    count: 10\n", "    count: 10\n    trace: {file: t.csv, columns: {uplink: {column: u, unit: bit/s}}, mean: 2}\n", "16:71: fleet[1].trace.mean", "unknown key 'mean'; expected one of: client, columns, file, sample"),
    "a type for a name": ("selection: uniform", "selection: {type: oort}", "26:13: selection.type", "the name is written `name: oort`"),
    "a number without its unit, elsewhere": ("rounds:\n", "rounds:\n  deadline: 30\n", "23:3: rounds.deadline", "unknown key 'deadline'; did you mean 'rounds.policy.deadline'?"),
    "a word of a description": ("rounds:\n", "rounds:\n  quorum: 3\n", "23:3: rounds.quorum", "unknown key 'quorum'; did you mean 'min_clients'?"),
    "a word of a description before a name elsewhere": ("selection: uniform", "aggregation: {name: trimmed_mean, share: 0.1}", "26:35: aggregation.share", "unknown key 'share'; did you mean 'trim'?"),
    "a word of a description elsewhere": ("rounds:\n", "rounds:\n  bandwidth: 5 Mbit/s\n", "23:3: rounds.bandwidth", "unknown key 'bandwidth'; did you mean 'fleet[0].downlink' or 'fleet[0].uplink'?"),
    "a key of a value elsewhere": ("rounds:\n", "rounds:\n  stragglers: 30%\n", "23:3: rounds.stragglers", "unknown key 'stragglers'; did you mean 'rounds.policy.deadline'?"),
    "a key that takes no such value": ("    uplink: 10", "    upload: 10", "12:5: fleet[0].upload", "'upload'; expected one of: attack, availability"),
    "a mapping that no far key takes": ("    count: 10\n", "    count: 10\n    battery: {capacity: 2 Wh, initial: {min: 20%, max: 90%}}\n", "16:31: fleet[1].battery.initial", "expected one of: capacity, charge, minimum"),
    "clients in quotes": ("clients: 10", 'clients: "10"', "24:12: rounds.clients", "got '10'; write it without quotes"),
    "a count in quotes": ("count: 20", 'count: "20"', "9:12: fleet[0].count", "got '20'; write it without quotes"),
    "a count with a comma": ("count: 20", "count: 2,000", "9:12: fleet[0].count", "got '2,000'; numbers have a decimal point"),
    "no space after a colon": ("    uplink: 10", "    uplink:10", "13:5: is no valid YAML", "(from line 12) could not find expected ':'; is the ': '"),
    "a distribution's name alone": ("compute: 3 samples/s", "compute: lognormal", "16:14: fleet[1].compute", "written `{distribution: lognormal, ...}`"),
    "a distribution's name for a key": ("compute: 3 samples/s", "compute: {uniform: {min: 1 samples/s}}", "16:14: fleet[1].compute", "written `{distribution: uniform, ...}`"),
    "name for distribution": ("{distribution: normal,", "{name: normal,", "10:14: fleet[0].compute", "written `{distribution: normal, ...}`"),
    "a variant of nothing at all": ("  FedProx: {training.workload: partial_epochs, training.proximal: 1}", "  FedProx:", "30:11: variants.FedProx", "such as {} for the scenario as it is, got nothing"),
    "a file without a name in it": ("model: logistic_regression", "model: net.py", "6:8: model: unknown model 'net.py'; a model of your own is written 'net.py:Name'", ""),
    "a number of devices": ("    count: 20", "    number: 20", "9:5: fleet[0].number", "did you mean 'count'?"),
    "groups by name": (GOOD[GOOD.index("  - name: phones") : GOOD.index("training:")], "  phones: {count: 20}\n  tablets: {count: 10}\n", "8:3: fleet: ", "groups are a list: write `- name: phones`"),
    "no space before a list": ("targets: [0.7]", "targets:[0.7]", "27:31: is no valid YAML", "; is the ': ' (a colon and a space) missing there?"),
    "indented too far": ("    count: 20", "      count: 20", "9:12: is no valid YAML", "or does this line begin too far to the right?"),
    "wrong type": ("training:\n  epochs: 10", "training: 10\nrounds:\n  epochs: 10", "23:1: ", "duplicate key 'rounds'"),
    "a number for a section": ("network: {}", "network: 10", "32:10: network", "network"),
    "name is a list": ("selection: uniform", "selection: [uniform]", "26:12: selection", "selector"),
    "no group's name": ("name: tablets", "name: a/b", "14:11: fleet[1].name", "letters from A to Z or a to z, digits"),
    "no folder's name": ("name: good", "name: a/b", "1:7: name", "letters from A to Z or a to z, digits"),
    "no variant's name": ("  FedProx:", "  a/b:", "30:3: variants.a/b: ", "letters from A to Z or a to z, digits"),
    "missing model": ("model: logistic_regression\n", "", "1:1: missing key 'model'", ""),
    "missing count": ("    count: 20\n", "", "8:5: fleet[0]: missing key 'count'", ""),
    "no groups": (GOOD[GOOD.index("  - name: phones") : GOOD.index("training:")], "  []\n", "8:3: fleet", "at least 1"),
    "variant of nothing": ("training.proximal: 1", "training.proximl: 1", "30:48: training.proximl", "mean 'proximal'"),
    "variant of a number": ("training.proximal: 1", "rounds.clients.x: 1", "30:48: rounds.clients.x", "is 10, which has no 'x'"),
    "variant too far": ("training.proximal: 1", "fleet.2.count: 1", "30:48: fleet[2].count", "only 2 items"),
    "a variant with no space after a name's colon": ("FedProx: {training.workload: partial_epochs, training.proximal: 1}", "b: {data.partition: {name=shards}}", "30:23: data.partition: 'name=shards' is written", "in variant 'b'"),
    "a variant with no space after its colon": ("FedProx: {training.workload: partial_epochs, training.proximal: 1}", "b:{selection: oort}", "", "'b:{selection'; is the ': ' (a colon and a space) missing there?"),
    "variant with a wrong value": ("training.proximal: 1", "training.proximal: -1", "30:67: training.proximal", "in variant 'FedProx'"),
    "bad YAML": ("fleet:\n", "fleet: [\n", "8:3", "is no valid YAML"),
    "bad indentation": ("  batch_size: 8", " batch_size: 8", "19:2", "is no valid YAML"),
    "tabs": ("  batch_size: 8", "\tbatch_size: 8", "19:1", "indent with spaces"),
    "duplicate key": ("  batch_size: 8", "  epochs: 8", "19:3: training: duplicate key 'epochs', first in line 18", ""),
    "unknown tag": ("seed: 0", "seed: !!python/name:os.system 0", "2:7: seed", "unknown YAML tag"),
    "merge key": ("  batch_size: 8", "  <<: {batch_size: 8}", "19:3: training", "merge keys"),
    "refers to itself": ("seeds: [0, 1]", "seeds: &a [*a]", "31:12: seeds[0]", "refers to itself"),
    "two documents": ("seeds: [0, 1]", "---\nseeds: [0, 1]", "31:1", "is no valid YAML"),
}  # fmt: skip


def test_the_scenario_to_break_is_good(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(GOOD)
    assert main(["validate", "s.yaml"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("s.yaml: ok (2 variants, 2 seeds)\n")
    assert err == ""


@pytest.mark.parametrize("name", BROKEN)
def test_one_mistake_is_told_in_one_line_with_its_place(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, place, words = BROKEN[name]
    assert GOOD.count(old) == 1, f"{old!r} must occur once"
    Path("s.yaml").write_text(GOOD.replace(old, new))
    told = refused(capsys, "validate", "s.yaml")
    assert f"s.yaml:{place}" in told
    assert words in told
    assert told.count("\n") == 1, "one mistake, one line"
    assert [path.name for path in here.iterdir()] == ["s.yaml"]


def test_what_is_wrong_with_files_is_told_with_what_can_not_go_together(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace that is not there was told once all else had been mended."""
    trace = "    count: 20\n    availability: {name: trace, file: nowhere.csv}"
    Path("s.yaml").write_text(
        GOOD.replace("    count: 20", trace).replace("clients: 10", "clients: 99")
    )
    told = refused(capsys, "validate", "s.yaml").splitlines()
    assert "10:19: fleet[0].availability: can't read" in told[0]
    assert "25:12: rounds.clients: 99 clients per round" in told[1]
    assert len(told) == 2


FILES = {
    "empty": (b"", "s.yaml: is empty"),
    "only comments": (b"# later\n", "s.yaml: is empty"),
    "a list": (b"- fleet\n", "s.yaml:1:1: expected a mapping"),
    "a word": (b"scenario", "s.yaml:1:1: expected a mapping"),
    "not UTF-8": ("name: a\nmodel: caf\xe9".encode("latin-1"), "s.yaml:2:1: is not UTF-8 text; save"),
    "UTF-16": ("name: a".encode("utf-16"), "s.yaml:1:1: is not UTF-8"),
    "a control character": (b"seed: 0\nname: \x00", "s.yaml:2:7: is no valid YAML: unacceptable character"),
    "nested too deeply": (b"a: " + b"[" * 1500 + b"]" * 1500, "nested too deeply"),
    "aliases of aliases": (
        b"a0: &a0 [x, x, x, x, x, x, x, x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 8)) for i in range(1, 9)),
        "more than 50,000 values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_scenario(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, words = FILES[name]
    Path("s.yaml").write_bytes(content)
    told = refused(capsys, "validate", "s.yaml")
    assert words in told
    assert told.count("\n") == 1


def test_no_such_file_with_a_hint(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.yaml").write_text(GOOD)
    assert refused(capsys, "validate", "god.yaml") == (
        "god.yaml: no such file; did you mean 'good.yaml'?\n"
    )
    assert refused(capsys, "validate", "nowhere/s.yaml") == "nowhere/s.yaml: no such file\n"
    assert refused(capsys, "validate", ".") == ".: is a folder, expected a YAML file\n"
    Path("link.csv").symlink_to("nowhere")
    broken = "file or directory; it is a link to nowhere, which is not there\n"
    assert broken in refused(capsys, "calibrate", "link.csv")


def test_a_scenario_that_comes_with_simfl_is_offered(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has no clone has no folder `scenarios`."""
    offer = "simfl brings a scenario of this name: `simfl new quickstart.yaml --from quickstart`"
    assert offer in refused(capsys, "run", "quickstart")
    assert offer in refused(capsys, "run", "quickstart.yaml")
    assert refused(capsys, "run", "else/quickstart.yaml") == "else/quickstart.yaml: no such file\n"


def test_all_problems_at_once_in_the_order_of_the_file(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("seed: 0", "seed: x").replace("uplink: 10 Mbit/s", "uplink: 10")
    text = text.replace("selection: uniform", "selection: unifrom").replace(
        "epochs: 10", "epoch: 1"
    )
    Path("s.yaml").write_text(text)
    Path("t.yaml").write_text("fleet: {}\n")
    lines = refused(capsys, "validate", "s.yaml", "t.yaml").splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "s.yaml:2:7", "s.yaml:12:13", "s.yaml:18:3", "s.yaml:26:12",
        "t.yaml:1:1", "t.yaml:1:1", "t.yaml:1:8",
    ]  # fmt: skip


def test_good_files_are_told_of_beside_bad_ones(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("good.yaml").write_text(GOOD)
    assert main(["validate", "good.yaml", "else.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("good.yaml: ok")
    assert err == "error: else.yaml: no such file\n"
    Path("plain.yaml").write_text(GOOD[: GOOD.index("variants:")])
    assert main(["validate", "plain.yaml", "good.yaml", "--variant", "FedAvg"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("good.yaml: ok (1 variant")
    assert err.startswith("error: plain.yaml: --variant: there is no variant 'FedAvg'; expected")


@pytest.mark.parametrize(
    ("change", "meant"),
    [
        ("training.lr=0.3", "training.optimizer.lr"),
        ("training.learning_rate=0.3", "training.optimizer.lr"),
        ("rounds.deadline=30 s", "rounds.policy.deadline"),
        ("rounds.rounds=3", "rounds.stop.rounds"),
        ("max_rounds=3", "rounds.stop.rounds"),
        ("num_rounds=3", "rounds.stop.rounds"),
        ("evaluation.max_min_clients=3", "rounds.min_clients"),
        ("evaluation.max_alpha=3", "data.dataset.alpha"),
        ("uplink=1 Mbit/s", "fleet[0].uplink"),
        ("fleet[1].lr=3", "training.optimizer.lr"),
        ("training.batchsize=8", "batch_size"),
        ("selection={name: oort, warmup: 3, stop: 3}", "rounds.stop"),
        ("data.dataset={name: image_folder, folder: pictures}", "path"),
    ],
)
def test_what_was_meant_is_looked_for_in_the_whole_scenario(
    change: str, meant: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(GOOD)
    told = refused(capsys, "validate", "s.yaml", "--set", change)
    assert f"; did you mean '{meant}'?" in told


def test_a_key_beside_it_but_for_a_letter_comes_before_one_elsewhere(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table's column of clients is `data.dataset.client`."""
    Path("t.csv").write_text("x,who,label\n" + "".join(f"{i},{i % 4},{i % 2}\n" for i in range(24)))
    table = "{name: csv, path: t.csv, client: who, label: label}"
    Path("s.yaml").write_text(
        GOOD.replace("{name: synthetic, alpha: 1, beta: 1}", table).replace(
            "  clients: 10", "  client: 10"
        )
    )
    assert "rounds.client: unknown key 'client'; did you mean 'clients'?" in refused(
        capsys, "validate", "s.yaml"
    )


@pytest.mark.parametrize(
    "change",
    [
        "data.dataset={name: csv, file: tabel.csv, label: y}",
        "fleet[0].availability={name: trace, file: tabel.csv}",
    ],
)
def test_a_file_that_is_not_there_is_answered_with_one_beside_it(
    change: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(GOOD)
    Path("table.csv").touch()
    told = refused(capsys, "validate", "s.yaml", "--set", change)
    assert f"No such file or directory; did you mean '{here / 'table.csv'}'?" in told


@pytest.mark.parametrize("change", ["fleet[0].correlate={compute~samples: 0.6}", "rounds.seed=3"])
def test_keys_of_the_top_are_said_to_belong_there(
    change: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To be asked "did you mean 'seed'?" of a key called so says nothing."""
    Path("s.yaml").write_text(GOOD)
    told = refused(capsys, "validate", "s.yaml", "--set", change)
    key = change.partition("=")[0].rpartition(".")[2]
    assert f"unknown key '{key}'; did you mean '{key}' at the top of the scenario?" in told


def test_options_of_components_that_were_not_chosen_are_not_meant(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(GOOD)
    told = refused(
        capsys, "validate", "s.yaml", "--set", "rounds.policy=fedasync", "--set", "rounds.deadline=3 s"
    )  # fmt: skip
    assert "unknown key 'deadline'; expected one of: clients, min_clients, policy, stop" in told


@pytest.mark.parametrize("command", ["run", "validate"])
def test_standard_input_is_no_file(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not from standard input" in refused(capsys, command, "-")


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "pipe"],
        ["validate", "s.yaml", "--set", "fleet[0].availability={name: trace, file: pipe}"],
        ["validate", "s.yaml", "--set", "model.weights_file=pipe"],
        ["calibrate", "pipe"],
    ],
)
def test_a_named_pipe_is_no_file(
    words: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was waited for without end: nobody writes into it."""
    os.mkfifo("pipe")
    Path("s.yaml").write_text(GOOD)
    assert "is a named pipe, expected a " in refused(capsys, *words)


def test_the_pipe_of_a_shell_is_read_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def piped(text: str) -> str:
        end, beginning = os.pipe()
        os.write(beginning, text.encode())
        os.close(beginning)
        return f"/dev/fd/{end}"

    assert main(["validate", piped(GOOD)]) == 0
    capsys.readouterr()
    Path("s.yaml").write_text(GOOD)
    trace = f"{{name: trace, file: {piped('device,start_s,end_s')}}}"
    told = refused(capsys, "validate", "s.yaml", "--set", f"fleet[0].availability={trace}")
    assert "it is a pipe, expected a file" in told
