"""simfl beside other simulators: rounds per second on W1 to W4, interleaved.

    python -m benchmarks.peers [--rounds N] [--only W1 W3] [--peers pfl fedjax] [--install-only]

Each simulator is installed from PyPI into an environment of its own below ``.venvs`` (or
``$SIMFL_PEERS``) and run by one small file beside this one, as its own documentation would.  All
are kept to one core, and take turns: a round of one, a round of the next, while the others wait.
What is compared is the median over rounds of simfl's time against each other's in the same turn.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.environments import NotInstalled, environment
from benchmarks.report import known, leave
from benchmarks.workloads import export, scenario
from simfl import Options, run

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PACKAGES = {
    "pfl": ["pfl[pytorch]"],
    "fedjax": ["fedjax", "jax==0.4.30", "jaxlib==0.4.30", "dm-haiku==0.0.12"],  # needs jax.tree_map
    "fedlab": ["fedlab"],
    "flower": ["flwr[simulation]", "torch"],
    "flgo": ["flgo", "torch", "torchvision"],
}
WARM_UP = 2
PATIENCE_S = 120
"""A simulator that is not ready, or whose round is not done, by then is given up."""
ENOUGH_S = 30
"""A simulator that has computed so long on a workload is excused from further rounds."""


class Peer:
    """A simulator in a process of its own, at its gate."""

    def __init__(self, name, python, folder, core):
        self.name, self.versions, self.why_not = name, {}, None
        self._log = (folder / f"{name}.log").open("w+")
        ours, theirs = os.pipe(), os.pipe()
        environment = {
            **os.environ,
            "PEER_DATA": str(folder),
            "GATE_IN": str(ours[0]),
            "GATE_OUT": str(theirs[1]),
            "PYTHONPATH": os.pathsep.join([str(HERE), *([str(ROOT)] if name == "simfl" else [])]),
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
            "RAY_USAGE_STATS_ENABLED": "0",
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        }

        def pin():
            if core is not None and core >= 0:
                os.sched_setaffinity(0, {core})

        self._process = subprocess.Popen(
            [str(python), str(HERE / f"{name}_.py")],
            env=environment, pass_fds=(ours[0], theirs[1]), preexec_fn=pin, cwd=folder,
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = os.fdopen(ours[1], "w"), os.fdopen(theirs[0], "r")
        ready = self._hear()
        if ready is not None:
            self.versions = ready["ready"]

    def _hear(self):
        import select

        heard = select.select([self._in], [], [], PATIENCE_S)[0]
        line = self._in.readline() if heard else ""
        if line:
            return json.loads(line)
        self._log.seek(0)
        said = [text for text in self._log.read().splitlines() if text.strip()]
        print("\n".join(said[-40:]), file=sys.stderr)
        why = "too slow" if not heard else said[-1] if said else "ended without a word"
        self.why_not = why[:200]
        self.stop()
        return None

    def round(self):
        """Let it do one round; return what it says of it, or None."""
        try:
            print("go", file=self._out, flush=True)
        except OSError:
            pass
        return self._hear()

    def peak_mb(self):
        """Return the most memory it has held, with the processes it started (Linux; else None)."""
        peaks, parents = {}, {}
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                facts = dict(line.split(":", 1) for line in status.read_text().splitlines())
            except OSError:
                continue
            pid = int(facts["Pid"])
            parents[pid] = int(facts["PPid"])
            peaks[pid] = int(facts.get("VmHWM", "0 kB").split()[0])

        def is_ours(pid):
            return pid == self._process.pid or (pid in parents and is_ours(parents[pid]))

        return sum(peak for pid, peak in peaks.items() if is_ours(pid)) / 1024 or None

    def stop(self):
        """Let it go."""
        try:
            print("stop", file=self._out, flush=True)
            self._out.close()
        except OSError:
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def install(name, venvs):
    """Return the Python of a simulator's environment, or why there is none."""
    lock = (ROOT / "constraints.txt").read_text().splitlines()
    same = venvs / "constraints.txt"  # PyTorch as simfl has it, all else as they want it
    same.write_text("\n".join(line for line in lock if line.startswith("torch")) + "\n")
    try:
        programs = environment(venvs / name, PACKAGES[name], same)
    except NotInstalled as error:
        return None, str(error)[:200]
    return programs / "python", None


def prepare(name, rounds, folder):
    """Write the data and the cohorts: those that simfl's own uniform selection chooses."""
    export(name, folder)
    cohorts = []

    def listen(_job):
        def note(_time_s, kind, facts):
            if kind == "selected":
                cohorts.append(sorted(facts["clients"]))

        return [note]

    run(scenario(name, rounds), folder / "cohorts", Options(time_only=True), listen=listen)
    spec = json.loads((folder / "spec.json").read_text()) | {"cohorts": cohorts}
    (folder / "spec.json").write_text(json.dumps(spec))


def contest(name, pythons, rounds, core):
    """Return rows for one workload."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(name, rounds + WARM_UP, folder)
        peers = []
        try:
            for label, python in pythons.items():
                began = time.perf_counter()
                peers.append(Peer(label, python, folder, core))
                took = time.perf_counter() - began
                print(f"{name} {label}: {peers[-1].why_not or f'{took:.0f} s'}", file=sys.stderr)
            said = take_turns(peers, rounds + WARM_UP)
            memory = {peer.name: peer.peak_mb() for peer in peers if peer.why_not is None}
        finally:
            for peer in peers:
                if peer.why_not is None:
                    peer.stop()
    ours = [one["seconds"] for one in said["simfl"][WARM_UP:]]
    return [
        {"workload": name} | row(peer, said[peer.name], ours, memory.get(peer.name))
        for peer in peers
    ]


def take_turns(peers, rounds):
    """Return what each simulator, by name, says of each of its rounds."""
    said = {peer.name: [] for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            done = said[peer.name]
            enough = len(done) > WARM_UP and sum(one["seconds"] for one in done) > ENOUGH_S
            if peer.why_not is not None or (enough and peer.name != "simfl"):
                continue
            if (answer := peer.round()) is not None:
                done.append(answer)
    return said


def row(peer, said, ours, memory_mb):
    """Return the row of a simulator beside the seconds of our own rounds."""
    theirs = [one["seconds"] for one in said[WARM_UP:]]
    cells = {"simulator": peer.name, "version": "", "ms_per_round": None}
    cells |= {"simfl_is_faster": None, "rounds": len(theirs), "peak_mb": memory_mb}
    cells |= {"note": peer.why_not or ""}
    if peer.why_not is None and theirs:
        cells["version"] = next(iter(peer.versions.values()))
        cells["ms_per_round"] = 1e3 * statistics.median(theirs)
        cells["simfl_is_faster"] = statistics.median(
            their / our for their, our in zip(theirs, ours, strict=False)
        )
        accuracy = said[-1]["accuracy"]
        cells["note"] = f"accuracy {accuracy:.3f}" if accuracy else ""
    return cells


def main():
    """Install, measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8, help="measured, of each workload")
    parser.add_argument("--only", nargs="+", default=["W1", "W2", "W3", "W4"])
    parser.add_argument("--peers", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--install-only", action="store_true")
    parser.add_argument("--core", type=int, help="to keep all to (default: the last; -1: to none)")
    given = parser.parse_args()
    venvs = Path(os.environ.get("SIMFL_PEERS") or HERE / ".venvs")
    venvs.mkdir(parents=True, exist_ok=True)
    pythons, missing = {"simfl": Path(sys.executable)}, {}
    for name in given.peers:
        python, why_not = install(name, venvs)
        if python is None:
            missing[name] = why_not
        else:
            pythons[name] = python
    if given.install_only:
        print("\n".join(f"{name}: {missing.get(name, 'ready')}" for name in given.peers))
        return
    core = given.core
    if core is None and hasattr(os, "sched_getaffinity"):
        core = max(os.sched_getaffinity(0))
    notes = [
        f"Medians over the rounds after the first {WARM_UP}; all kept to one core, taking turns.",
        "peak_mb: resident, of all of a simulator's processes together.",
        *(f"{name} could not be installed: {why}" for name, why in missing.items()),
    ]
    tables = known("peers")
    for name in given.only:
        tables[name] = contest(name, pythons, given.rounds, core)
        leave("peers", dict(sorted(tables.items())), notes)


if __name__ == "__main__":
    main()
