"""Tests of the whole package; what several of them share lies beside them."""

import os
import signal
import sys

# Hundreds of processes are started, each of which would compile the whole package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Whoever starts them in the background of a script has Ctrl-C ignored, by them and all they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
