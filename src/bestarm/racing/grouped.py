"""The evaluation of a whole group: the mean of the scores of its items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.errors import EvaluationError
from bestarm.inputs.scores import checked_score, failed_call, is_failure, listed
from bestarm.inputs.texts import label_text
from bestarm.racing.evaluation import Evaluation


@dataclass(frozen=True)
class OverGroup:
    """A function of an arm (or of all arms, ``jointly``) and an item, evaluated on all items of a group."""

    function: Callable[..., Any]
    jointly: bool = False
    bounds: tuple[float, float] | None = None

    def __call__(self, arm: Any, items: Sequence[Any]) -> Any:
        """The mean over the items, for each arm where there are several."""
        values = []
        for item in items:
            try:
                values.append(self.function(arm, item))
            except Exception as error:
                raise self._failed(arm, item, error) from error
        return self._mean(arm, items, values)

    def _failed(self, arm: Any, item: Any, error: Exception) -> EvaluationError:
        """What went wrong, with the item of the group on which it did."""
        return failed_call("arms" if self.jointly else label_text(arm), item, error)

    def _mean(self, arm: Any, items: Sequence[Any], values: list[Any]) -> Any:
        if not self.jointly:
            return float(np.mean([self._score(arm, item, value) for item, value in zip(items, values, strict=True)]))
        names = list(map(label_text, arm))
        rows = [
            [self._score(one, item, score) for one, score in zip(arm, listed(value, arm, names), strict=True)]
            for item, value in zip(items, values, strict=True)
        ]
        return np.mean(rows, axis=0).tolist()

    def _score(self, arm: Any, item: Any, value: Any) -> float:
        """One score, checked by itself: a mean can hide one that is out of bounds."""
        score = checked_score(value, self.bounds, label_text(arm), item)
        if is_failure(score):
            raise score
        return score


class OverGroupAwaited(OverGroup):
    """The same for a function that is awaited."""

    async def __call__(self, arm: Any, items: Sequence[Any]) -> Any:
        """The mean over the items, one after the other."""
        values = []
        for item in items:
            try:
                values.append(await self.function(arm, item))
            except Exception as error:
                raise self._failed(arm, item, error) from error
        return self._mean(arm, items, values)


def over_groups(evaluation: Evaluation) -> OverGroup:
    """The function of an evaluation as one of groups."""
    kind = OverGroupAwaited if evaluation.awaited else OverGroup
    return kind(evaluation.function, evaluation.jointly, evaluation.bounds)
