"""Objects of the user in messages, also those that cannot say what they are."""

from collections.abc import Callable
from typing import Any


def said(value: Any) -> str:
    """An object as text: what ``str`` gives, or that it gives nothing."""
    return _text(str, value)


def described(value: Any) -> str:
    """An object as code: what ``repr`` gives, or that it gives nothing."""
    return _text(repr, value)


def _text(write: Callable[[Any], str], value: Any) -> str:
    try:
        return write(value)
    except Exception as error:  # whatever a method of the user's does, or an integer with too many digits
        return f"<{type(value).__name__} without a text: {type(error).__name__}>"
