"""A real federation on real sockets, beside the simulation of the same scenario."""
