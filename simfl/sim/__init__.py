"""Virtual time: SimPy processes that know durations, bytes and sample counts, never tensors."""
