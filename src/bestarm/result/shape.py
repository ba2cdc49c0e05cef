"""Do the differences between two arms look nearly Gaussian, where the test of a race assumes it?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.assumptions import FEW_VALUES
from bestarm.algorithms.game import Arm
from bestarm.record.record import ByArm
from bestarm.text import name_of, with_noun
from bestarm.values import equal_values, hash_of_values

SKEWED = 4.0  # standard errors: of 50 looks at Gaussian differences hardly one is beyond
LARGEST = 0.5  # of the sum of squares
FEWEST = 3  # items that a shape needs
HUGE = 1e60
MOST_PAIRS = 2  # that a warning describes
GIVE_BOUNDS = "give the bounds that scores lie in"  # where they take few values
WHAT_TO_DO = "give bounds if the scores have any, or compare by wins (the criterion), which assumes nothing"


@dataclass(frozen=True, eq=False)
class Shape(Generic[Arm]):
    """The differences of two arms on the items that they shared up to a round.

    ``distinct`` counts the values of the differences, ``fewest_scores`` those of the arm that has fewer;
    ``skewness`` has the ``standard_error`` that it would have if the differences were Gaussian; ``largest_share`` is
    that of one item in the sum of squares about the mean.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    against: Arm
    round: int
    n_items: int
    distinct: int
    fewest_scores: int
    skewness: float
    standard_error: float
    largest_share: float

    @property
    def few_values(self) -> bool:
        """Whether the differences, or the scores of an arm, take few values."""
        return min(self.distinct, self.fewest_scores) <= min(FEW_VALUES, self.n_items // 2)

    @property
    def problem(self) -> str | None:
        """What does not look Gaussian, in words; None if nothing does."""
        few = min(FEW_VALUES, self.n_items // 2)
        if self.distinct <= few:
            return f"take only {with_noun(self.distinct, 'distinct value')}"
        if self.fewest_scores <= few:
            return f"are of scores that take only {with_noun(self.fewest_scores, 'distinct value')}"
        if self.largest_share > max(LARGEST, FEW_VALUES / self.n_items):
            return f"are dominated by one item ({self.largest_share:.0%} of their sum of squares)"
        if abs(self.skewness) > SKEWED * self.standard_error:
            return f"are strongly skewed (skewness {self.skewness:.2g}, standard error {self.standard_error:.2g})"
        return None


def shape_of(arm: Arm, against: Arm, number: int, scores: NDArray[np.float64]) -> Shape[Arm] | None:
    """The shape of two columns of scores up to a round; None where too few items are shared."""
    shared = scores[~np.isnan(scores).any(axis=1)]
    n = len(shared)
    if n < FEWEST:
        return None
    size = float(np.max(np.abs(shared), initial=0.0))
    if size and not HUGE**-1 < size < HUGE:  # their cubes would overflow or vanish: the shape is that of any multiple
        shared, size = shared / size, 1.0
    differences = shared[:, 0] - shared[:, 1]
    centred = differences - differences.mean()
    squares = centred**2
    total = float(squares.sum())
    rounding = 1e-13 * size
    flat = total <= n * rounding**2
    return Shape(
        arm=arm,
        against=against,
        round=number,
        n_items=n,
        distinct=1 if flat else int((np.diff(np.sort(differences)) > rounding).sum()) + 1,
        fewest_scores=min(np.unique(column).size for column in shared.T),
        skewness=0.0 if flat else float(np.mean(centred**3) / (total / n) ** 1.5 * np.sqrt(n * (n - 1)) / (n - 2)),
        standard_error=float(np.sqrt(6.0 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))),
        largest_share=1.0 if flat else float(squares.max()) / total,
    )


def shapes_of(pairs: Iterable[tuple[int, int, int]], scores: ByArm, arms: tuple[Arm, ...]) -> tuple[Shape[Arm], ...]:
    """The shapes of pairs (arm, against, round), where there are enough items."""
    found = (shape_of(arms[one], arms[other], t, scores.table(one, other, t)) for one, other, t in pairs)
    return tuple(shape for shape in found if shape is not None)


def shape_warning(shapes: tuple[Shape[Arm], ...]) -> str | None:
    """What does not look Gaussian, for which arms, and what to do; None if nothing does."""
    wrong = [shape for shape in shapes if shape.problem is not None]
    if not wrong:
        return None
    said = [
        f"between {name_of(shape.arm)} and {name_of(shape.against)} {shape.problem} (up to round {shape.round:,})"
        for shape in wrong[:MOST_PAIRS]
    ]
    to_do = GIVE_BOUNDS if any(shape.few_values for shape in wrong) else WHAT_TO_DO
    more = f", and {with_noun(len(wrong) - MOST_PAIRS, 'more pair')} look wrong" if len(wrong) > MOST_PAIRS else ""
    return f"the differences {', those '.join(said)}{more}: the guarantee does not cover them; {to_do}"
