"""What ends a program is no failure of an evaluation."""


def the_end_in(error: BaseException) -> KeyboardInterrupt | SystemExit | None:
    """The wish to end, Ctrl-C or ``sys.exit``, that an exception is or, as a group, holds; None if there is none.

    Everything else is a failure: also exceptions that are no `Exception`, such as the cancellation of a task of the
    user's own.
    """
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return error
    if isinstance(error, BaseExceptionGroup):
        ends = [end for part in error.exceptions if (end := the_end_in(part)) is not None]
        return next((end for end in ends if isinstance(end, KeyboardInterrupt)), ends[0] if ends else None)
    return None


def let_through(error: BaseException, during: str) -> None:
    """Raise the wish to end that an exception is or holds, with a note on what was going on; do nothing for others."""
    end = the_end_in(error)
    if end is not None:
        end.add_note(during)
        raise end
