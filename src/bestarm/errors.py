"""Errors and warnings."""

from collections.abc import Callable, Mapping
from typing import Any

from bestarm.text import sanitize


class BestarmError(Exception):
    """The base class of bestarm's own errors: catch it to catch any of them."""

    def __str__(self) -> str:
        return sanitize(super().__str__(), "message")  # with names, paths and texts of exceptions and programs in it


class ParameterError(ValueError):
    """A parameter that cannot be used as it is given: ``parameter`` and ``value`` say which, the text says why.

    ``problem`` is the sentence without the parameter's name, which is its first word. Other parameters stand in it in
    braces, and ``others`` says how Python spells these: ``"needs {bounds}"`` and ``{"bounds": "bounds=(low, high)"}``.
    """

    def __init__(
        self, parameter: str, problem: str, value: Any = None, others: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(parameter, problem, value, others)  # what a copy in another process is made from
        self.parameter = parameter
        self.problem = problem
        self.value = value
        self.others = others or {}

    def __str__(self) -> str:
        return self.spelled(lambda name: self.others.get(name, name))

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The sentence with every parameter's name as ``spell`` writes it, such as ``--delta`` for ``delta``."""
        others = {name: spell(name) for name in self.others}
        return f"{spell(self.parameter)} {self.problem.format(**others) if others else self.problem}"


class ParameterTypeError(ParameterError, TypeError):
    """A parameter of a type that cannot be used; it can be caught as TypeError."""


class EvaluationError(BestarmError):
    """An evaluation that failed: the text says why, `arm` and `item` say which one.

    Both are None where the failure belongs to no single evaluation. `retried` is how many attempts had failed before.
    Where a failure ends a race, the text names the parameters that say what else may follow one, `remedies`.
    """

    arm: Any = None
    item: Any = None
    retried: int = 0
    remedies: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.spelled(str)

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The text with every parameter's name as ``spell`` writes it, such as ``--retries`` for ``retries``."""
        text = super().__str__()
        if not self.remedies:
            return text
        attempts = f"{self.retried + 1} attempts; " if self.retried else ""
        return f"{text.rstrip()} ({attempts}see {' and '.join(map(spell, self.remedies))})"


class OutOfBoundsError(EvaluationError):
    """A score outside of the bounds: whatever ``on_error`` says, the race stops, and ``retries`` does not try again.

    The bounds are what the guarantee rests on, and they are wrong: give wider ones and start again.
    """


class StoreError(BestarmError):
    """A saved race that cannot be opened, read or continued, and why."""


class AssumptionWarning(UserWarning):
    """The scores do not look like what the test assumes: also in ``result.warnings``, where ``in_result`` is true.

    Or the first ones all failed, or a file of items repeats some.
    """

    in_result = True


class TableWarning(UserWarning):
    """How a table was read, where it could be read in another way: also in ``ScoreTable.notes``.

    Such as a column of texts that was left out. Choosing the columns says the same without a warning.
    """
