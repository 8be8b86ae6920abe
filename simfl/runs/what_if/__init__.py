"""What would have made a run shorter: what could have been otherwise, and its clock again so."""
