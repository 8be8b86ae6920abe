"""Networks, one file each; `base.py` is the seam.

`shared` is the one that is built in.  Its `shared_links` start `transfers`, which in each direction
meet at `bottlenecks`: a `timed_link` each, which wakes by one of the models in `links`.  Capacities
may follow a `rate_trace`, and devices may ask for work by `polling`.
"""
