"""The demo: which of SciPy's optimizers gets furthest with 300 function evaluations? Nothing to download.

A problem is a random function of 2 to 8 variables, a start and a box, made from a seed. Its shape, the place of its
minimum, the directions of its axes and its scales are random; the minimum and the start lie uniformly in the box, whose
place and widths depend on nothing else. So the box, which some methods need, tells where the others begin to look, and
no more. Every method runs with SciPy's settings, and may leave the box if it was not given it. It ends as it likes, or
when the evaluations are used up; those for gradients, which are made of differences, count.

Methods that need derivatives are left out, as are COBYLA, COBYQA and dual annealing, with which the demo would take
several times as long.
"""

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import BestarmError

if TYPE_CHECKING:
    from scipy.optimize import Bounds

EVALUATIONS = 300  # of the function
DIGITS = 8  # gained are all the way: the excess over the least value is 10^-8 of that of the start
VARIABLES = (2, 8)
BENCHMARK = 1000  # problems of a benchmark that tries every method on every problem
QUESTION = (
    "Which of SciPy's optimizers gets furthest with 300 evaluations of a function?",
    "12 of them, and random search, race on random problems of 2 to 8 variables.",
    "Score: by how many of 8 digits the best value is nearer to the minimum.",
)
Point = NDArray[np.float64]
Function = Callable[[Point], float]


@dataclass(frozen=True)
class Problem:
    """A function whose least value is 0, where to start, and a box that holds its minimum and the start."""

    value: Function
    start: Point
    low: Point
    high: Point

    @property
    def box(self) -> "Bounds":
        """The box as SciPy takes it."""
        from scipy.optimize import Bounds

        return Bounds(self.low, self.high)


def bowl(y: Point, scales: Point) -> float:
    """A quadratic function, longer in some directions than in others."""
    return float(scales @ (y * y))


def valley(y: Point, scales: Point) -> float:
    """Rosenbrock's function: a narrow, curved valley."""
    x = y + 1.0
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + y[:-1] ** 2))


def ripples(y: Point, scales: Point) -> float:
    """Rastrigin's function with lower ripples: many local minima in a bowl."""
    return float(np.sum(y * y + 2.0 * (1.0 - np.cos(2.0 * np.pi * y))))


def kinks(y: Point, scales: Point) -> float:
    """A sum of absolute values: no gradient at the minimum, nor along lines that lead there."""
    return float(np.sqrt(scales) @ np.abs(y))


def funnel(y: Point, scales: Point) -> float:
    """The logarithm of a bowl: flat far away, steep near the minimum."""
    return math.log1p(bowl(y, scales))


SHAPES = (bowl, valley, ripples, kinks, funnel)


def random_problem(seed: int) -> Problem:
    """The problem of a seed."""
    rng = np.random.default_rng(seed)
    n, shape = int(rng.integers(VARIABLES[0], VARIABLES[1] + 1)), SHAPES[rng.integers(len(SHAPES))]
    axes, scales = np.linalg.qr(rng.normal(size=(n, n)))[0], 10.0 ** rng.uniform(0.0, 3.0, n)
    low = rng.uniform(-10.0, 10.0, n)
    high = low + 10.0 ** rng.uniform(0.5, 1.2, n)
    minimum, start = rng.uniform(low, high), rng.uniform(low, high)

    def value(x: Point) -> float:
        return shape(axes @ (np.asarray(x, dtype=np.float64) - minimum), scales)

    return Problem(value, start, low, high)


class SpentError(BestarmError):
    """All evaluations of a function are used up."""


class Budgeted:
    """A function that can be evaluated so many times, and remembers its least value."""

    def __init__(self, function: Function, evaluations: int) -> None:
        self.function, self.left, self.least = function, evaluations, math.inf

    def __call__(self, x: Point) -> float:
        """The value at a point."""
        if self.left == 0:
            raise SpentError
        self.left -= 1
        value = self.function(x)
        self.least = min(self.least, value)  # a value that is not a number is none that was found
        return value


def local(method: Any) -> "Optimizer":
    """A method of `scipy.optimize.minimize`, from the start."""

    def run(function: Function, problem: Problem, random: dict[str, Any]) -> None:
        from scipy.optimize import minimize

        minimize(function, problem.start, method=method)

    return run


def basin_hopping(function: Function, problem: Problem, random: dict[str, Any]) -> None:
    """BFGS, again and again from near the best point."""
    from scipy.optimize import basinhopping

    basinhopping(function, problem.start, **random)


def differential_evolution(function: Function, problem: Problem, random: dict[str, Any]) -> None:
    """A population in the box; the start is one of it."""
    from scipy.optimize import differential_evolution

    differential_evolution(function, problem.box, x0=problem.start, **random)


def direct(function: Function, problem: Problem, random: dict[str, Any]) -> None:
    """Rectangles that the box is divided into."""
    from scipy.optimize import direct

    direct(function, problem.box)


def shgo(function: Function, problem: Problem, random: dict[str, Any]) -> None:
    """SLSQP from several points of a complex in the box."""
    from scipy.optimize import shgo

    shgo(function, problem.box)


def random_search(function: Function, problem: Problem, random: dict[str, Any]) -> None:
    """Uniform points of the box: what every method should beat."""
    (rng,) = random.values()
    while True:
        function(rng.uniform(problem.low, problem.high))


Optimizer = Callable[[Function, Problem, dict[str, Any]], None]
LOCAL = ("Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "trust-constr")
OPTIMIZERS: dict[str, Optimizer] = {
    **{method: local(method) for method in LOCAL},
    "basin hopping": basin_hopping,
    "differential evolution": differential_evolution,
    "DIRECT": direct,
    "SHGO": shgo,
    "random search": random_search,
}


def digits_gained(optimizer: str, seed: int) -> float:
    """The score: digits by which the best value is nearer to the least than that of the start, over 8, at most 1.

    On a logarithmic scale this is the share of the way from the start to a value that is as good as the least: the
    excess e over the least value, of the best point evaluated, gives ``log10(e_start / e) / 8``.
    """
    problem = random_problem(seed)
    function, excess = Budgeted(problem.value, EVALUATIONS), problem.value(problem.start)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of methods that lose their way
        with suppress(SpentError):
            OPTIMIZERS[optimizer](function, problem, _random(seed))
    gained = excess / max(function.least, excess * 10.0**-DIGITS)
    return min(1.0, max(0.0, math.log10(gained) / DIGITS))


def _random(seed: int) -> dict[str, Any]:
    """The random numbers of a method, apart from those of its problem, by the name that this SciPy has for them."""
    import scipy

    version = tuple(map(int, scipy.__version__.split(".")[:2]))
    return {"rng" if version >= (1, 15) else "seed": np.random.default_rng([seed, 1])}


class Watch:
    """The score, and how long it takes: ``seconds`` and ``calls`` by optimizer."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(OPTIMIZERS, 0.0)
        self.calls = dict.fromkeys(OPTIMIZERS, 0)
        self.began = perf_counter()

    def __call__(self, optimizer: str, seed: int) -> float:
        """The score of an optimizer on the problem of a seed."""
        began = perf_counter()
        score = digits_gained(optimizer, seed)
        self.seconds[optimizer] += perf_counter() - began
        self.calls[optimizer] += 1
        return score

    def comparison(self) -> str | None:
        """How long this took, and how long a benchmark would; None where a continued race tells nothing of some."""
        if not all(self.calls.values()):
            return None
        everything = BENCHMARK * sum(self.seconds[name] / n for name, n in self.calls.items())
        took, all_of_them = in_words(perf_counter() - self.began), f"all {len(OPTIMIZERS)} methods on {BENCHMARK:,}"
        return f"This race took {took}; {all_of_them} such problems take about {in_words(everything)}."


def in_words(seconds: float) -> str:
    """A duration."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
