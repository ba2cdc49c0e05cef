"""A conformance kit: checks that your own algorithms and comparisons keep the promises that bestarm's keep.

>>> from bestarm.algorithms import HoeffdingRace
>>> from bestarm.comparisons import Betting
>>> from bestarm.testing import check_algorithm, check_comparison
>>> check_algorithm(HoeffdingRace(0.1, variances=0.01), n_arms=(3,))
>>> check_comparison(Betting(bounds=(0, 10)), n_arms=(3,))

Each promise is one small function that is named after it, in `ALGORITHM_PROPERTIES` or `COMPARISON_PROPERTIES`. The
first one that is broken raises a `ConformanceError`, which says where, and what was seen. With pytest, a test for each:

    @pytest.mark.parametrize("promise", bestarm.testing.ALGORITHM_PROPERTIES)
    def test_my_algorithm(promise):
        bestarm.testing.check_algorithm(MyAlgorithm(delta=0.05), properties=[promise])

The kit checks how games are played, not that their answers are right: that takes a proof, and error rates measured in
many games (`bestarm.simulate`).
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bestarm.algorithms import Algorithm, ConvexBAI, PairwiseBAI
from bestarm.comparisons import Comparison
from bestarm.errors import AssumptionWarning
from bestarm.testing import promises
from bestarm.testing.promises import ConformanceError, MakeRows, Reference, Relabel, Trial, random_rewards

__all__ = [
    "ALGORITHM_PROPERTIES",
    "COMPARISON_PROPERTIES",
    "ConformanceError",
    "Trial",
    "check_algorithm",
    "check_comparison",
]

SEED = 0  # of the rewards

Property = Callable[[Trial], None]
ComparisonProperty = Callable[[Comparison], None]

ALGORITHM_PROPERTIES: tuple[Property, ...] = (
    promises.telling_is_playing,
    promises.blocks_of_any_size_are_the_same,
    promises.the_same_rows_are_the_same_game,
    promises.games_share_nothing,
    promises.arms_have_no_order,
    promises.columns_not_asked_are_not_read,
    promises.rows_after_the_end_are_left,
    promises.every_query_counts_once,
    promises.arms_are_candidates_or_beaten,
    promises.eliminations_say_when_and_by_whom,
    promises.sets_shrink_where_they_should,
    promises.asking_changes_nothing,
    promises.the_reference_agrees,
    promises.refused_rewards_change_nothing,
    promises.refused_rows_change_nothing,
    promises.calls_out_of_turn_are_refused,
    promises.one_arm_is_no_game,
    promises.rounds_ahead_are_taken_where_they_can_be,
    promises.rounds_of_no_arms_are_refused,
    promises.the_next_round_is_not_guessed,
    promises.arms_are_disqualified_or_it_says_why_not,
    promises.bounds_on_leads_agree,
    promises.the_guarantee_is_stated,
    promises.settings_are_values,
    promises.settings_fit_into_a_race_file,
)
COMPARISON_PROPERTIES: tuple[ComparisonProperty, ...] = (
    promises.comparisons_say_what_they_are,
    promises.comparisons_adapt_to_a_race,
    promises.comparisons_are_values,
    promises.boundaries_are_numbers,
    promises.boundaries_only_shrink,
    promises.boundaries_grow_as_delta_shrinks,
    promises.boundaries_do_not_depend_on_their_company,
)


def _as_it_is(algorithm: Any, order: Sequence[int]) -> Any:
    """The algorithm for arms in another order, where its settings are the same for all arms."""
    return algorithm


def check_algorithm(
    algorithm: Algorithm,
    properties: Sequence[Property] = ALGORITHM_PROPERTIES,
    n_arms: Sequence[int] = (2, 3, 6),
    n_games: int = 2,
    n_rounds: int = 600,
    rewards: MakeRows | None = None,
    relabel: Relabel = _as_it_is,
    reference: Reference | None = None,
) -> None:
    """Check that an algorithm keeps its promises; the first broken one is a `ConformanceError`.

    Parameters
    ----------
    algorithm : settings with a method ``start(n_arms)`` that returns a `bestarm.algorithms.Game`
    properties : the promises to check
    n_arms : numbers of arms
    n_games : games for each of them
    n_rounds : rounds of a game, if it does not end before: so many that games do end, or what comes at the end is not
        seen
    rewards : a function of a generator, the number of rounds and that of arms; rows of rewards without ties. By default
        all rewards lie within the bounds of the game, with one arm far ahead of all others in every second game
    relabel : the algorithm for arms in the order given, if its settings are not the same for all arms
    reference : a slow and obvious version: a function of the rows; arm and round of each elimination

    """
    for K in n_arms:
        for number in range(n_games):
            make = rewards or random_rewards(algorithm.start(K).bounds, clear=number % 2 == 0)
            rows = make(np.random.default_rng([SEED, K, number]), n_rounds, K)
            trial = Trial(algorithm, rows, SEED, relabel, reference)
            where = f"{algorithm!r}, {K} arms, game {number}"
            for promise in properties:
                _run(promise, trial, where)


def check_comparison(
    comparison: Comparison,
    properties: Sequence[ComparisonProperty] = COMPARISON_PROPERTIES,
    delta: float = 0.1,
    **options: Any,
) -> None:
    """Check that a comparison keeps its promises, and so do the games of its algorithm.

    Parameters
    ----------
    comparison : for `PairwiseBAI` or `ConvexBAI`, as its role says
    properties : the promises of comparisons to check
    delta : of the algorithm
    options : of `check_algorithm`; with ``algorithm_properties=()`` no games are played

    """
    for promise in properties:
        _run(promise, comparison, repr(comparison))
    kind = ConvexBAI if comparison.role == "combinations" else PairwiseBAI
    wanted = options.pop("algorithm_properties", ALGORITHM_PROPERTIES)
    check_algorithm(kind(delta, comparison=comparison), wanted, **options)


def _run(promise: Callable[[Any], None], subject: object, where: str) -> None:
    """Check one promise. Whatever goes wrong is reported with its name; made-up rewards need not look natural."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            promise(subject)
    except Exception as error:
        seen = str(error) if isinstance(error, ConformanceError) else f"{type(error).__name__}: {error}"
        raise ConformanceError(f"{promise.__name__}: {seen} [{where}]") from error
