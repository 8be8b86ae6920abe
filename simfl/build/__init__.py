"""From a scenario to the objects of a run."""
