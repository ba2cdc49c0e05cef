"""What bestarm may answer to bad input: a documented error in one sentence, and nothing else."""

import traceback
import unicodedata
from pathlib import Path

import bestarm

LONGEST = 600  # characters of a sentence
PRODUCT = str(Path(bestarm.__file__).parent)
JOINERS = "\u200c\u200d"  # letters of some scripts and emoji need them
UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters, marks and symbols that are drawn as nothing
REFUSALS = (ValueError, TypeError, bestarm.BestarmError)


class Fault(Exception):  # noqa: N818 - not an error of this program, but what it looks for
    """A promise that was broken."""


class OwnError(Exception):
    """What the user's own objects raise: nobody has to explain that."""


def wrong_with(text: str, longest: int = LONGEST) -> str | None:
    """Why a text is not a sentence that can be shown anywhere, or None."""
    if not text.strip():
        return "it says nothing"
    if len(text) > longest:
        return f"it has {len(text):,} characters"
    for letter in text:
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in JOINERS:
            return f"it holds the control character U+{ord(letter):04X}"
        if letter in UNSEEN:
            return f"it holds U+{ord(letter):04X}, which nobody sees"
    return None


def text_of(error: BaseException) -> str:
    """What an error says, with the text of a KeyError as it was given."""
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def judge(error: BaseException, allowed: tuple[type[BaseException], ...] = REFUSALS) -> str:
    """The kind of a refusal that is as promised; anything else is a fault, unless a user's own object failed."""
    if isinstance(error, OwnError) or (isinstance(error.__cause__, OwnError) and isinstance(error, allowed)):
        return "own error"
    name = type(error).__name__
    where = _place(error)
    if not isinstance(error, allowed) or isinstance(error, RecursionError | NotImplementedError):
        raise Fault(f"{name} escapes: {text_of(error)[:300]} [{where}]") from error
    if (wrong := wrong_with(text_of(error))) is not None:
        raise Fault(f"{name} is not one sentence, {wrong}: {text_of(error)[:300]!r} [{where}]") from error
    return name if where.startswith("bestarm") else f"{name} of others"


def _place(error: BaseException) -> str:
    """Where an error was raised, and the last function of bestarm on the way there."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(PRODUCT)]
    if not inside:
        return "outside"
    home = "bestarm" if frames[-1] is inside[-1] else Path(frames[-1].filename).name
    return f"{home} {Path(inside[-1].filename).name}:{inside[-1].name}"
