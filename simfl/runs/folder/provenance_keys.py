"""What is in `provenance.json`: how a run was made."""

MEANINGS: dict[str, str] = {
    "variant": "of the scenario",
    "seed": "root of all randomness",
    "factors": "what a sweep changed: a path and its value each",
    "place": "which of all variants it is, from 0, in the order written: that in which they are "
    "shown",
    "study": "what was asked for together with it: names of variants, and seeds",
    "assumed": "what the scenario leaves to defaults that decide the result",
    "cautions": "what of the scenario may not be what was meant",
    "time_only": "whether the clock ran without training",
    "oracle": "whether the selector was told what no server can know",
    "powered": "whether some group of the fleet says what power it takes",
    "unpowered": "groups that don't, though others do: they count as 0 J",
    "better": "of metrics of one's own: whether a higher or a lower one is (absent: there are "
    "none)",
    "log": "what was recorded: full, rounds or none",
    "log_compressed": "whether the event log is compressed",
    "executor": "what trained",
    "device": "on what, as PyTorch calls it",
    "threads_per_worker": "of PyTorch",
    "versions": "of Python, simfl, the libraries that numbers depend on, and packages that lent "
    "components",
    "commit": "of the checkout that simfl ran from, -dirty if changed (null: it is an installed "
    "one)",
    "machine": "its system, processor, cores, and GPU where one was used",
    "files": "SHA-256 of each file and module that the scenario names, by name",
    "clients": "what the data set calls the client of each device, in their order (absent: it does "
    "not say)",
    "judged_on": "how many samples models are judged on; under evaluation.on: clients, as many as "
    "tell as much as its mean over clients (absent: no model is, or Flower's clients do it)",
    "scenario_sha256": "of scenario.yaml",
    "started": "date and time",
    "host_s": "seconds of real time that it took, all stretches of an interrupted run together "
    "(absent: it has not ended)",
    "failed": "of a run that failed: in which round, and by what error",
    "forks": "of a fork, for it and each fork that it comes from: of which run it is a fork, its "
    "variant, from when on (at_s, virtual seconds), what was set, and how many events they share, "
    "with digests (empty: it is none)",
}
"""By its keys."""
