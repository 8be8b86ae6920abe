"""What ends badly: a selector while a file is there, a call at once."""

import os
import signal
from pathlib import Path

from pydantic import Field

from simfl.components.selectors.uniform import Uniform


class Dangerous(Uniform):
    """In round 2 kills its process, or raises, while the file `danger` exists."""

    danger: str = Field("", description="a file whose text says what happens")

    def select(self, view, reports, k, rng):
        if self.danger and view.round == 2 and Path(self.danger).exists():
            what = Path(self.danger).read_text()
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise LookupError(what)
        return super().select(view, reports, k, rng)


def die(_: object) -> None:
    """Kill the process."""
    os.kill(os.getpid(), signal.SIGKILL)
