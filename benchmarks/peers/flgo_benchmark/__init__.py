"""A benchmark in FLGo's sense: the data of the workload."""

visualize = None
