"""simfl: the whole simulator, as `simfl run` uses it."""

import json
import tempfile
from pathlib import Path

from common import FOLDER, Gate

from benchmarks.workloads import scenario
from simfl import Options, run

spec = json.loads((FOLDER / "spec.json").read_text())  # it makes the data itself
gate = Gate("simfl", "torch", "numpy")
last = {}


def listen(job):
    def note(time_s, kind, facts):
        if kind == "round" and facts["round"] == 1:
            gate.pass_()
        if kind == "round_end":
            gate.pass_(facts["row"].accuracy)

    return [note]


with tempfile.TemporaryDirectory() as folder:
    one = scenario(spec["name"], len(spec["cohorts"]) + 1)
    run(one, Path(folder) / "out", Options(), listen=listen)
