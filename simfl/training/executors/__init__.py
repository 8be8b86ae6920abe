"""Where orders are computed: one executor a file; `base.py` is the seam.

`inline` is the reference; `processes`, `ray` and `auto` are others.  They hand out `groups` of
orders, to a `crew` of `worker` processes or to a `cluster`, `sharing` large tensors, and wait with
`patience`; `auto` keeps workers if training is faster with them.  `sums` of models are made where
these were trained, `gpu_sums` on a GPU.
"""
