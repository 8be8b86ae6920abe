"""Tests of the whole package; what several of them share lies beside them."""

import os
import sys

# Hundreds of processes are started, each of which would compile the whole package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
