"""Every algorithm and comparison keeps the promises of the kit, own games too; and the kit finds those that do not."""

from collections import Counter
from inspect import isabstract, isclass
from typing import Any

import pytest

import bestarm
import own_games
from bestarm.algorithms import LUCB, Algorithm, Game, PairwiseBAI
from bestarm.comparisons import Comparison, Portfolio
from bestarm.testing import (
    ALGORITHM_PROPERTIES,
    COMPARISON_PROPERTIES,
    ConformanceError,
    Trial,
    check_algorithm,
    check_comparison,
)
from own_games import Playing
from subjects import COMPARISONS, KINDS, SUBJECTS, Subject

OWN: dict[str, Subject] = {
    "TopTwo": Subject(own_games.TopTwo()),
    "PatientLUCB": Subject(own_games.PatientLUCB(LUCB(0.1, variances=0.01), 60)),
    "FarBehind": Subject(Playing(own_games.FarBehind)),
    "a game that never ends": Subject(Playing(Game)),
    "PairwiseBAI, an own comparison": Subject(PairwiseBAI(0.1, comparison=own_games.Wide())),
}
ALL = SUBJECTS | OWN


# Orders and ends are many: these are looked at in more games than the others.
MORE_GAMES = {"arms_have_no_order": 6, "rows_after_the_end_are_left": 6}
PROMISES: dict[str, Any] = {one.__name__: one for one in (*ALGORITHM_PROPERTIES, *COMPARISON_PROPERTIES)}


def named(function: Any) -> str:
    return str(function.__name__)


@pytest.mark.parametrize("subject", ALL)
@pytest.mark.parametrize("promise", ALGORITHM_PROPERTIES, ids=named)
def test_algorithms_keep_their_promises(promise: Any, subject: str) -> None:
    check_algorithm(
        ALL[subject].algorithm, [promise], n_games=MORE_GAMES.get(named(promise), 2), **ALL[subject].options
    )


@pytest.mark.parametrize("name", [*COMPARISONS, "an own one"])
@pytest.mark.parametrize("promise", COMPARISON_PROPERTIES, ids=named)
def test_comparisons_keep_their_promises(promise: Any, name: str) -> None:
    check_comparison(COMPARISONS.get(name, own_games.Wide()), [promise], algorithm_properties=())


# --- the lists are whole, and the games are not empty -----------------------------------------------------------------


def test_every_algorithm_of_bestarm_is_a_subject() -> None:
    public = {name for name in bestarm.algorithms.__all__ if hasattr(getattr(bestarm.algorithms, name), "start")}
    assert set(KINDS) == public - {"Algorithm"}


def test_every_comparison_of_bestarm_is_a_subject() -> None:
    public = {name: getattr(bestarm.comparisons, name) for name in bestarm.comparisons.__all__}
    settings = {name for name, one in public.items() if isclass(one) and hasattr(one, "__dataclass_fields__")}
    assert {type(comparison).__name__ for comparison in COMPARISONS.values()} == settings - {"Goal"}
    assert not any(isabstract(type(comparison)) for comparison in COMPARISONS.values())
    played = {subject.algorithm.comparison for subject in SUBJECTS.values() if hasattr(subject.algorithm, "comparison")}
    assert played == set(COMPARISONS.values())


@pytest.mark.parametrize("subject", SUBJECTS)
def test_games_of_the_kit_end_in_many_ways(subject: str) -> None:
    seen: Counter[str] = Counter()

    def look(trial: Trial) -> None:
        """Not a promise: what came up."""
        game, midway = trial.played(), trial.midway()
        seen.update(games=1, ended=game.finished, out=len(game.eliminations), midway=not midway.finished)
        seen.update(early=bool(midway.eliminations), **{str(game.reason): 1})

    algorithm, options = SUBJECTS[subject].algorithm, SUBJECTS[subject].options
    check_algorithm(algorithm, [look], **options)
    assert seen["midway"] == seen["games"]
    assert seen["ended"] >= len(options.get("n_arms", (2, 3, 6)))
    assert seen["out"] > 0
    for setting, reason in (("max_queries", "budget"), ("max_rounds", "budget"), ("epsilon", "within epsilon")):
        assert not getattr(algorithm, setting, None) or seen[reason] > 0
    assert getattr(getattr(algorithm, "comparison", None), "pool", None) is None or seen["all items used"] > 0


# --- what the kit finds -----------------------------------------------------------------------------------------------

BROKEN: list[tuple[str, Algorithm, dict[str, Any]]] = [
    ("telling_is_playing", Playing(own_games.DropsTheFirstRow), {}),
    ("blocks_of_any_size_are_the_same", Playing(own_games.LooksAtTheEndOfABlock), {}),
    ("the_same_rows_are_the_same_game", Playing(own_games.ThrowsDice), {}),
    ("games_share_nothing", Playing(own_games.SharesItsSums), {}),
    ("arms_have_no_order", Playing(own_games.PrefersTheFirst), {}),
    ("columns_not_asked_are_not_read", Playing(own_games.ReadsEverything), {}),
    ("rows_after_the_end_are_left", Playing(own_games.ReadsOn), {}),
    ("every_query_counts_once", Playing(own_games.CountsTwice), {}),
    ("arms_are_candidates_or_beaten", Playing(own_games.OutAndIn), {}),
    ("eliminations_say_when_and_by_whom", Playing(own_games.BeatenByItself), {}),
    ("sets_shrink_where_they_should", Playing(own_games.ComesBack), {}),
    ("asking_changes_nothing", Playing(own_games.AsksAnew), {}),
    ("the_reference_agrees", Playing(own_games.FarBehind), {"reference": lambda rows: []}),
    ("refused_rewards_change_nothing", Playing(own_games.LearnsFromRefusals), {}),
    ("refused_rows_change_nothing", Playing(own_games.LearnsFromRefusedRows), {}),
    ("calls_out_of_turn_are_refused", Playing(own_games.AnswersAfterTheEnd), {}),
    ("one_arm_is_no_game", own_games.OneArm(), {}),
    ("rounds_ahead_are_taken_where_they_can_be", Playing(own_games.ClaimsToWorkAhead), {}),
    ("rounds_of_no_arms_are_refused", Playing(own_games.TakesAnything), {}),
    ("the_next_round_is_not_guessed", Playing(own_games.GuessesTheNextRound), {}),
    ("arms_are_disqualified_or_it_says_why_not", Playing(own_games.DisqualifiesInName), {}),
    ("bounds_on_leads_agree", Playing(own_games.KnowsSomeLeads), {}),
    ("bounds_on_leads_agree", Playing(own_games.KnowsTooMuch), {}),
    ("the_guarantee_is_stated", Playing(own_games.PromisesNoSentence), {}),
    ("settings_are_values", own_games.Unhashable(), {}),
    ("settings_fit_into_a_race_file", own_games.NotPlain(), {}),
]
BROKEN_COMPARISONS: list[tuple[str, Comparison]] = [
    ("comparisons_say_what_they_are", own_games.Silent()),
    ("comparisons_adapt_to_a_race", own_games.Stubborn()),
    ("comparisons_are_values", own_games.Nameless()),
    ("boundaries_are_numbers", own_games.Undefined()),
    ("comparisons_are_values", own_games.Hiding()),
    ("boundaries_only_shrink", own_games.Growing()),
    ("boundaries_grow_as_delta_shrinks", own_games.Careless()),
    ("boundaries_grow_as_delta_shrinks", own_games.Confused()),
    ("boundaries_do_not_depend_on_their_company", own_games.Sociable()),
]


@pytest.mark.parametrize(
    ("promise", "algorithm", "options"), BROKEN, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_broken_promise_is_found(promise: str, algorithm: Algorithm, options: dict[str, Any]) -> None:
    with pytest.raises(ConformanceError, match=rf"(?s)^{promise}: .* arms, game \d+\]$"):
        check_algorithm(algorithm, [PROMISES[promise]], **options)
    with pytest.raises(ConformanceError):
        check_algorithm(algorithm, **options)


@pytest.mark.parametrize(
    ("promise", "comparison"), BROKEN_COMPARISONS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_broken_promise_of_a_comparison_is_found(promise: str, comparison: Comparison) -> None:
    with pytest.raises(ConformanceError, match=rf"^{promise}: .*{type(comparison).__name__}\("):
        check_comparison(comparison, [PROMISES[promise]], algorithm_properties=())
    with pytest.raises(ConformanceError):
        check_comparison(comparison, n_arms=(3,))


def test_every_promise_has_one_who_breaks_it() -> None:
    assert {promise for promise, _, _ in BROKEN} == set(map(named, ALGORITHM_PROPERTIES))
    assert {promise for promise, _ in BROKEN_COMPARISONS} == set(map(named, COMPARISON_PROPERTIES))


def test_a_whole_check_is_quiet() -> None:
    check_algorithm(own_games.TopTwo())
    check_comparison(own_games.Wide(), n_arms=(3,))
    check_comparison(Portfolio(), n_arms=(3,), n_games=1, n_rounds=100)


def test_errors_of_a_game_are_told_with_their_promise() -> None:
    class Falls(Game):
        def learn(self, arms: Any, rewards: Any) -> None:
            raise KeyError("nowhere")

    with pytest.raises(ConformanceError, match=r"^telling_is_playing: KeyError: 'nowhere' \[Playing") as caught:
        check_algorithm(Playing(Falls))
    assert isinstance(caught.value.__cause__, KeyError)
