"""The door between virtual time and execution: who answers the server's questions.

Each is a `base` with a `ledger`: `time_only` trains nothing, `flower` leaves that to Flower.
Before one of them takes over in a resumed run, `replaying` repeats a log.  `training` trains, with

- `computing`, which has orders computed from `model_versions`, and from what is each client's own:
  its `personal` parameters;
- `update_path`: what becomes of an update on its way, and the `early_results` that a filter saw;
- `guarded_aggregator`, which asks the aggregator, and who is to blame for what is `not_finite`;
- `probe_answers`, and the `outcome` that selectors learn from;
- `global_model`: how a model is judged and stored, and `diagnostics`: what else is.
"""
