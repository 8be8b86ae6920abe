"""Several runs at once: in processes of this machine, or beside a Ray cluster."""
