"""Privacy: what the rounds so far have spent of it."""

from collections import Counter

from simfl.core.epsilon import UNKNOWN, Spent
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.state import RunState


class PrivacyLoss:
    """Counts whose updates counted, and tells what that has spent.

    Args:
        state: of the run, whose first settings say what a round spends.
        candidates: say how many can be asked.
    """

    def __init__(self, state: RunState, candidates: Candidates) -> None:
        self._state, self._candidates = state, candidates
        self._privacy = state.settings.privacy
        self._fewest = len(candidates.able)
        self._heard: Counter[int] = Counter()
        self._most = 0
        self._known = self._privacy is not None
        self._spent: Spent = UNKNOWN

    @property
    def told(self) -> dict[str, float | None]:
        """What was spent by the end of the last round, by column ({}: the run does not tell)."""
        return {} if self._privacy is None else self._spent._asdict()

    def count(self, client: int) -> None:
        """Take note that an update of `client` counts."""
        if self._privacy is not None:
            self._heard[client] += 1
            self._most = max(self._most, self._heard[client])

    def close(self, rounds: int) -> None:
        """Work out what `rounds` have spent, all that are over.

        Once the rules have changed to such as spend otherwise, nobody knows any more.
        """
        self._known &= self._state.settings.privacy == self._privacy
        self._fewest = min(self._fewest, len(self._candidates.able))
        self._spent = UNKNOWN
        if self._privacy is not None and self._known:
            self._spent = self._privacy.spent(self._most, rounds, self._fewest)

    def may_exceed(self, epsilon: float) -> bool:
        """Return whether some client will have spent more than `epsilon` if it is heard again."""
        privacy = self._privacy if self._known else None
        return privacy is not None and privacy.exceeds(self._most + 1, epsilon)
