"""The published experiments that simfl repeats: what is run, what is measured, what was claimed."""
