"""What followed from a failure, as the text that a record and a store keep of it.

A row of a store has a score, a failure, or both. The text of a failure begins with what followed, so that failures can
be counted wherever rows are kept, without a column of their own:

- ``retried 2 times: ...``: two attempts failed, and the score is that of the third;
- ``counted as worst: ...`` or ``retried 2 times, counted as worst: ...``: the score is the worst one. In files of
  earlier versions such a text has no beginning;
- ``counted as time-out: ...``: the score is the time-out.

Without a score the arm is disqualified, and only the number of attempts may stand at the beginning.
"""

import re
from typing import Literal, NamedTuple

Counted = Literal["", "worst", "time-out"]  # what took the place of a score, if anything did

RETRIED, COUNTED = r"retried (\d+) times?", r"counted as (worst|time-out)"
BEGINNING = re.compile(f"(?:{RETRIED}, {COUNTED}|{RETRIED}|{COUNTED}): ")


class Note(NamedTuple):
    """A failure: why, how many attempts failed and were tried again, and what it counts as."""

    text: str
    retried: int = 0
    counted: Counted = ""

    @property
    def stored(self) -> str:
        """The text that a row holds."""
        said = [f"retried {self.retried} time{'s' * (self.retried != 1)}"] if self.retried else []
        said += [f"counted as {self.counted}"] if self.counted else []
        return f"{', '.join(said)}: {self.text}" if said else self.text


def note_of(stored: str, scored: bool) -> Note:
    """The note of a row, which has a score or not."""
    begun = BEGINNING.match(stored)
    if begun is None:
        return Note(stored, counted="worst" if scored else "")
    retried = int(begun[1] or begun[3] or 0)
    counted: Counted = (begun[2] or begun[4] or "") if scored else ""  # type: ignore[assignment]
    return Note(stored[begun.end() :], retried, counted)


class NotedScore(NamedTuple):
    """A score, and what failed on the way to it."""

    score: float
    note: Note
