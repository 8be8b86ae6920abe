"""The door between virtual time and execution: who answers the server's questions.

Each is a `base` with a `ledger`: `time_only` trains nothing, `flower` leaves that to Flower
and its `flower_clients`.
Before one of them takes over in a resumed run, `replaying` repeats a log.  `training` trains, with

- `computing`, which has orders computed from `model_versions`;
- `update_path`: what becomes of an update on its way, and `early`: results a filter had to see;
- `guarded_aggregator`, which asks the aggregator, and `nonsense`: whom to blame for no numbers;
- `answers` to probes, and the `outcome` that selectors learn from;
- `global_model`: how a model is judged and stored, and `diagnostics`: what else is.
"""
