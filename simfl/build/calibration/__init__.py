"""Calibration: from what was measured of devices to a fleet that is like them."""
