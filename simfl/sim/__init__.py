"""Virtual time: SimPy processes that know durations, bytes and sample counts, never tensors.

On the clock of the `timeline`, `rounds` has one of the `policies` run the rounds of a `server`,
which sends the devices of a `fleet` on errands (`device`).  An `errand` is what to do, and what
became of it; an `errand_process` does it, in a `stretch` of waits, over links of `networks`
(`transfer_wait`: where nobody knows beforehand when a transfer ends).  `meter` counts what that
costs.  Devices may have a `battery`, and rates that vary and trainings that fail are drawn anew on
all `occasions`.  `coordinator` is what virtual time may ask of the world of tensors.
"""
