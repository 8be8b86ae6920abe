"""simfl: the whole simulator, as `simfl run` uses it."""

import tempfile
from pathlib import Path

from common import Data, Gate

from benchmarks.workloads import scenario
from simfl.runner import Options, run

data = Data()
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
    one = scenario(data.spec["name"], len(data.cohorts) + 1)
    run(one, Path(folder) / "out", Options(), listen=listen)
