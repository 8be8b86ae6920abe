"""``python -m simfl`` is `simfl`."""

import sys

from simfl.cli import main

if __name__ == "__main__":
    sys.exit(main())
