import sys
from pathlib import Path

# The models and data that the tests of learning use; workers are given this path too.
sys.path.insert(0, str(Path(__file__).parents[1]))
