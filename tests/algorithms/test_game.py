"""One warning where the rewards are not what the comparison is made for, and none where they are."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm import AssumptionWarning
from bestarm.algorithms import Game, HoeffdingRace, PairwiseBAI, VarianceRace
from bestarm.comparisons import Betting, Comparison, StudentMixture, Wins
from subjects import COMPARISONS

Array = NDArray[np.float64]
K = 4
LOOK = 50  # rounds after which the rewards are judged
DELTA = 1e-9  # nobody is out early

PAIRS = [comparison for comparison in COMPARISONS.values() if comparison.role == "pairs"]
GAUSSIAN = [one for one in PAIRS if one.bounds is None and not isinstance(one, Wins)]
BOUNDED = [comparison for comparison in PAIRS if comparison.bounds == (0.0, 1.0) and comparison.pool is None]
BOUNDED.append(Betting(pool=1000))  # longer than these games


def tell(game: Game, rows: Array) -> None:
    for row in rows:
        if game.finished:
            return
        game.tell(row[game.ask()])


def play(game: Game, rows: Array) -> None:
    game.play(rows)


def play_in_blocks(game: Game, rows: Array) -> None:
    for start in range(0, len(rows), 7):
        if game.finished:
            return
        game.play(rows[start : start + 7])


WAYS: dict[str, Callable[[Game, Array], None]] = {"tell": tell, "play": play, "blocks": play_in_blocks}
every_way = pytest.mark.parametrize("way", WAYS)


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def bernoulli(n: int) -> Array:
    return (np.random.default_rng(0).random((n, K)) < 0.5).astype(np.float64)


def normal(n: int) -> Array:
    return np.random.default_rng(1).normal(size=(n, K))


def narrow(n: int, spread: float = 0.01) -> Array:
    """Scores that move together over a third of the range; their differences hardly vary."""
    rng = np.random.default_rng(2)
    return rng.uniform(0.4, 0.7, (n, 1)) + rng.uniform(-spread, spread, (n, K))


def together(n: int) -> Array:
    """Scores that move together over the whole range: there are no tighter bounds, however little differences vary."""
    rows = narrow(n)
    return np.asarray((rows - rows.min()) / np.ptp(rows))


@every_way
@pytest.mark.parametrize(
    ("comparison", "make", "words"),
    [
        *((one, bernoulli, r"at most 10 distinct values.*give the bounds that scores lie in$") for one in GAUSSIAN),
        *(
            (one, narrow, r"less than 5% of the range from 0 to 1, .*: give tighter bounds, .* if no score")
            for one in BOUNDED
        ),
    ],
)
def test_games_warn_once_of_rewards_that_a_comparison_is_not_made_for(
    way: str, comparison: Comparison, make: Callable[[int], Array], words: str
) -> None:
    game = PairwiseBAI(DELTA, comparison=comparison).start(K)
    with pytest.warns(AssumptionWarning, match=words) as caught:
        WAYS[way](game, make(300))
    assert game.warnings == [str(one.message) for one in caught]
    assert len(caught) == 1
    assert game.n_rounds == 300


@every_way
@pytest.mark.parametrize(
    ("comparison", "make"),
    [
        *((one, normal) for one in GAUSSIAN),
        *((one, make) for one in BOUNDED for make in (bernoulli, lambda n: narrow(n, 0.1), together)),
    ],
)
def test_games_accept_rewards_that_a_comparison_is_made_for(
    way: str, comparison: Comparison, make: Callable[[int], Array]
) -> None:
    with no_warning():
        WAYS[way](PairwiseBAI(DELTA, comparison=comparison).start(K), make(300))


CASES: dict[str, tuple[Comparison, Callable[[int], Array]]] = {
    "discrete": (StudentMixture(), bernoulli),
    "narrow": (Betting(), narrow),
}
every_case = pytest.mark.parametrize("case", CASES)


@every_way
@every_case
def test_the_data_are_judged_after_fifty_rounds_and_not_before(way: str, case: str) -> None:
    comparison, make = CASES[case]
    rows, game = make(LOOK), PairwiseBAI(DELTA, comparison=comparison).start(K)
    with no_warning():
        WAYS[way](game, rows[:-1])
    with pytest.warns(AssumptionWarning):
        WAYS[way](game, rows[-1:])


@every_case
def test_every_game_warns_for_itself(case: str) -> None:
    comparison, make = CASES[case]
    for _ in range(2):
        with pytest.warns(AssumptionWarning) as caught:
            play(PairwiseBAI(DELTA, comparison=comparison).start(K), make(60))
        assert len(caught) == 1


def test_spread_is_judged_against_the_bounds() -> None:
    wide = Betting(bounds=(-10.0, 10.0))
    with pytest.warns(AssumptionWarning, match=r"of the range from -10 to 10, and .* over 2\.\d%: give tighter bounds"):
        play(PairwiseBAI(DELTA, comparison=wide).start(K), narrow(60, 0.1))


@every_way
def test_one_varying_arm_is_spread_enough(way: str) -> None:
    rows = narrow(60)
    rows[:, 2] = bernoulli(60)[:, 2]
    with no_warning():
        WAYS[way](PairwiseBAI(DELTA, comparison=Betting()).start(K), rows)


@every_way
@every_case
def test_a_short_game_is_not_judged(way: str, case: str) -> None:
    comparison, make = CASES[case]
    with no_warning():
        game = PairwiseBAI(DELTA, comparison=comparison, max_rounds=LOOK - 1).start(K)
        WAYS[way](game, make(200))
    assert game.reason == "budget"


@every_way
def test_a_game_that_ends_later_is_judged_however_it_was_played(way: str) -> None:
    """After 50 rounds all arms were there; that one is left at the end of the same block changes nothing."""
    rows = narrow(400) + np.array([0.0, 0.0, 0.0, 0.05])
    game = PairwiseBAI(0.05, comparison=Betting()).start(K)
    with pytest.warns(AssumptionWarning):
        WAYS[way](game, rows)
    assert game.reason == "decided"
    assert min(one.round for one in game.eliminations) > LOOK


@every_way
def test_rewards_that_vary_only_after_some_rounds_are_not_taken_for_discrete(way: str) -> None:
    rows = normal(200)
    rows[:12] = 0.0
    with no_warning():
        WAYS[way](PairwiseBAI(DELTA).start(K), rows)


@pytest.mark.parametrize("way", ["tell", "play"])
@every_case
def test_the_warning_points_at_the_line_that_fed_the_game(way: str, case: str) -> None:
    comparison, make = CASES[case]
    with pytest.warns(AssumptionWarning) as caught:
        WAYS[way](PairwiseBAI(DELTA, comparison=comparison).start(K), make(60))
    assert Path(caught[0].filename).name == Path(__file__).name


def test_other_algorithms_do_not_watch() -> None:
    with no_warning():
        HoeffdingRace(DELTA).start(K).play(bernoulli(60))
        VarianceRace(DELTA, rewards="bounded").start(K).play(narrow(60))


@every_way
@every_case
def test_where_warnings_are_errors_the_game_can_go_on_after_it(way: str, case: str) -> None:
    comparison, make = CASES[case]
    rows, game = make(200), PairwiseBAI(DELTA, comparison=comparison).start(K)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AssumptionWarning):
            WAYS[way](game, rows[:100])
        WAYS[way](game, rows[game.n_rounds :])
    assert game.n_rounds == 200
