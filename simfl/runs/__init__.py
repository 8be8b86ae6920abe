"""A run and its folder: doing it, recording it, resuming it, comparing it.

What is asked for is a `job`, one variant with one seed, and `options` say how.  `run_jobs` does
several, as `many` at once as there is room for by their `estimate`, in `pools` of processes.
`reuse` says what becomes of a folder that holds a run already, `differences` in what it is another.

- `run` makes one run, or goes on with it, and notes its `provenance` and what its `inputs` hold;
- the `simulation` has its clock go to its end;
- meanwhile `progress` is told, and by `tracking` other programs; at the end, the spent `privacy`;
- its `folder` is what all of this is written into, and read from.

Of what came of it, `results` are read.  `check` holds it to `laws`, `verify` makes it again,
`explain` asks `what_if`, and an `evaluation` judges how well the final model serves each client.
`forks` go on under changed rules, `tuning` looks for the best ones.  `flower` makes runs whose
model and training are Flower's.
"""
