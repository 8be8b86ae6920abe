"""The charts of a report, for one run or for several variants side by side."""
