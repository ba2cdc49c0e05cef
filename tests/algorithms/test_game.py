"""One warning where the rewards are not what the comparison is made for, and none where they are."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import games
from bestarm import AssumptionWarning
from bestarm.algorithms import HoeffdingRace, PairwiseBAI, VarianceRace
from bestarm.comparisons import Betting, Comparison, StudentMixture, Wins
from games import play_in_blocks
from subjects import COMPARISONS

Array = NDArray[np.float64]
K = 4
LOOK = 50  # rounds after which the rewards are judged
DELTA = 1e-9  # nobody is out early

PAIRS = [comparison for comparison in COMPARISONS.values() if comparison.role == "pairs"]
GAUSSIAN = [one for one in PAIRS if one.bounds is None and not isinstance(one, Wins)]
BOUNDED = [comparison for comparison in PAIRS if comparison.bounds == (0.0, 1.0) and comparison.pool is None]
BOUNDED.append(Betting(pool=1000))  # longer than these games

every_size = pytest.mark.parametrize("size", [1, 7, 1000])  # of the blocks that a game is played in


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def bernoulli(n: int) -> Array:
    return (np.random.default_rng(0).random((n, K)) < 0.5).astype(np.float64)


def normal(n: int, constant: int = 0) -> Array:
    """Gaussian scores, the same for all arms in the first rounds."""
    rows = np.random.default_rng(1).normal(size=(n, K))
    rows[:constant] = 0.0
    return rows


def narrow(n: int, spread: float = 0.01) -> Array:
    """Scores that move together over a third of the range; their differences hardly vary."""
    rng = np.random.default_rng(2)
    return rng.uniform(0.4, 0.7, (n, 1)) + rng.uniform(-spread, spread, (n, K))


def together(n: int) -> Array:
    """Scores that move together over the whole range: there are no tighter bounds, however little differences vary."""
    rows = narrow(n)
    return np.asarray((rows - rows.min()) / np.ptp(rows))


def bernoulli_without_one(n: int) -> Array:
    """One arm has many values and leaves early, before the rewards are judged."""
    rows = bernoulli(n)
    rows[:, 0] = normal(n)[:, 0] - 100.0
    return rows


def narrow_but_one(n: int) -> Array:
    rows = narrow(n)
    rows[:, 2] = bernoulli(n)[:, 2]
    return rows


@every_size
@pytest.mark.parametrize(
    ("comparison", "make", "words"),
    [
        *((one, bernoulli, r"at most 10 distinct values.*give the bounds that scores lie in$") for one in GAUSSIAN),
        (StudentMixture(), bernoulli_without_one, r"at most 10 distinct values"),
        *((one, narrow, r"less than 5% of the range from 0 to 1, .*: give tighter bounds") for one in BOUNDED),
        (
            Betting(bounds=(-10.0, 10.0)),
            partial(narrow, spread=0.1),
            r"of the range from -10 to 10, and .* over 2\.\d%: give tighter bounds",
        ),
    ],
)
def test_every_game_warns_once_of_rewards_that_a_comparison_is_not_made_for(
    size: int, comparison: Comparison, make: Callable[[int], Array], words: str
) -> None:
    for _ in range(2):
        game = PairwiseBAI(DELTA, comparison=comparison).start(K)
        with pytest.warns(AssumptionWarning, match=words) as caught:
            play_in_blocks(game, make(300), size)
        assert game.warnings == [str(one.message) for one in caught]
        assert [Path(one.filename) for one in caught] == [Path(games.__file__)]  # the line that fed the game
        assert game.n_rounds == 300


@every_size
@pytest.mark.parametrize(
    ("comparison", "make"),
    [
        *((one, normal) for one in GAUSSIAN),
        *((one, make) for one in BOUNDED for make in (bernoulli, partial(narrow, spread=0.1), together)),
        (StudentMixture(), partial(normal, constant=12)),
        (Betting(), narrow_but_one),
    ],
)
def test_games_accept_rewards_that_a_comparison_is_made_for(
    size: int, comparison: Comparison, make: Callable[[int], Array]
) -> None:
    with no_warning():
        play_in_blocks(PairwiseBAI(DELTA, comparison=comparison).start(K), make(300), size)


CASES: dict[str, tuple[Comparison, Callable[[int], Array]]] = {
    "discrete": (StudentMixture(), bernoulli),
    "narrow": (Betting(), narrow),
}
every_case = pytest.mark.parametrize("case", CASES)


@every_size
@every_case
def test_the_data_are_judged_after_fifty_rounds_and_not_before(size: int, case: str) -> None:
    comparison, make = CASES[case]
    rows, game = make(LOOK), PairwiseBAI(DELTA, comparison=comparison).start(K)
    with no_warning():
        play_in_blocks(game, rows[:-1], size)
    with pytest.warns(AssumptionWarning):
        play_in_blocks(game, rows[-1:], size)


@every_size
@every_case
def test_a_short_game_is_not_judged(size: int, case: str) -> None:
    comparison, make = CASES[case]
    with no_warning():
        game = PairwiseBAI(DELTA, comparison=comparison, max_rounds=LOOK - 1).start(K)
        play_in_blocks(game, make(200), size)
    assert game.reason == "budget"


@every_size
def test_a_game_that_ends_later_is_judged_however_it_was_played(size: int) -> None:
    """After 50 rounds all arms were there; that one is left at the end of the same block changes nothing."""
    rows = narrow(400) + np.array([0.0, 0.0, 0.0, 0.05])
    game = PairwiseBAI(0.05, comparison=Betting()).start(K)
    with pytest.warns(AssumptionWarning):
        play_in_blocks(game, rows, size)
    assert game.reason == "decided"
    assert min(one.round for one in game.eliminations) > LOOK


def test_other_algorithms_do_not_watch() -> None:
    with no_warning():
        HoeffdingRace(DELTA).start(K).play(bernoulli(60))
        VarianceRace(DELTA, rewards="bounded").start(K).play(narrow(60))


@every_size
@every_case
def test_where_warnings_are_errors_the_game_can_go_on_after_it(size: int, case: str) -> None:
    comparison, make = CASES[case]
    rows, game = make(200), PairwiseBAI(DELTA, comparison=comparison).start(K)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AssumptionWarning):
            play_in_blocks(game, rows[:100], size)
        play_in_blocks(game, rows[game.n_rounds :], size)
    assert game.n_rounds == 200
