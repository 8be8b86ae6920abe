"""What to train and what came of it: the one local-training program and its measures (torch).

Whoever trains calls `local`, in one of the `executors`: `lane_training` has `segments` of steps
over a cohort's `data` run by one of the `kernels`, with images that it can `augment`, and coresets
chosen by `features`.  `evaluate` judges models, and `measure` is what clients report without
training.

- A `task` is what is trained, and a `program` what is built for it once, on a CPU or a `gpu`.
- A model is `flat`, with `batch_norm` of its own kind, and kept in a `model_file`; of a
  part that is `personal` each client has its own, kept in a `personal_file`.
- What is known of it beforehand: its `architecture`, `flops`, `memory`, `linear_calls`, whether it
  takes `tokens` and is `compilable`.
- `shuffling` is `native` where the compiled library is built.
"""
