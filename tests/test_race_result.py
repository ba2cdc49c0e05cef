"""What a race hands back: its numbers against the raw scores, its sentences, its table, its picture, its display."""

import io
import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

import bestarm
from bestarm.algorithms import LUCB, Game, PairwiseBAI
from bestarm.comparisons import GaussianBernstein, LeaderBetting, StudentMixture
from bestarm.result import live
from bestarm.result.figure import lead_history
from bestarm.result.verdict import sentences
from bestarm.text import name_of
from games import intervals_of

Table = NDArray[np.float64]
NAMES = ["a", "b", "c", "d", "e"]
USUAL: dict[str, Any] = {"bounds": (0, 1), "progress": False}
LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.9}


def noisy() -> Table:
    rng = np.random.default_rng(3)
    table: Table = 0.5 * rng.random((3000, 1)) + 0.3 * rng.random((3000, 5)) + [0.0, 0.04, 0.05, 0.12, 0.2]
    return table


def crossing(seed: int) -> Table:
    """The second is close to the first and leaves soon; the third is far behind and noisy, and leaves late."""
    rng = np.random.default_rng(seed)
    first, noise = rng.standard_normal((3000, 1)), rng.standard_normal((3000, 2))
    return np.hstack([first, first - 0.02 + 0.03 * noise[:, :1], -0.25 + noise[:, 1:]])


def level(arm: str, item: Any) -> float:
    return LEVEL[arm]


def failing(at: dict[str, int], error: BaseException) -> Callable[[str, Any], float]:
    """Constant scores; the evaluation of an arm that has this number raises the error."""
    done = dict.fromkeys(LEVEL, 0)

    def evaluate(arm: str, item: Any) -> float:
        done[arm] += 1
        if done[arm] == at.get(arm):
            raise error
        return LEVEL[arm]

    return evaluate


def race(evaluate: Callable[..., Any] = level, arms: Any = tuple(LEVEL), items: Any = range(1000), **more: Any) -> Any:
    return bestarm.race(evaluate, arms=arms, items=items, **USUAL | more)


def race_table(table: Table, calls: list[tuple[str, int]] | None = None, **more: Any) -> Any:
    asked = [] if calls is None else calls

    def evaluate(arm: str, item: int) -> float:
        asked.append((arm, item))
        return float(table[item, NAMES.index(arm)])

    return race(evaluate, NAMES[: table.shape[1]], range(len(table)), **more)


BETTING, STUDENT = LeaderBetting(bounds=(0, 1), pool=3000), StudentMixture(min_rounds=10)
LOWER = {"bounds": None, "lower_is_better": True, "epsilon": 0.01}
CASES: dict[str, tuple[dict[str, Any], PairwiseBAI, Callable[[Table], Table]]] = {
    "bounded": ({}, PairwiseBAI(0.05, comparison=BETTING), lambda scores: scores),
    "bounded, lower": ({"lower_is_better": True, "delta": 0.1}, PairwiseBAI(0.1, comparison=BETTING), lambda s: 1 - s),
    "student": ({"bounds": None}, PairwiseBAI(0.05, comparison=STUDENT), lambda scores: scores),
    "student, lower": (LOWER, PairwiseBAI(0.05, comparison=STUDENT, epsilon=0.01), lambda scores: -scores),
    "stopped": ({"bounds": None, "max_evaluations": 70}, PairwiseBAI(0.05, comparison=STUDENT), lambda scores: scores),
}


def by_hand(algorithm: Any, rewards: Table) -> Game:
    game: Game = algorithm.start(rewards.shape[1])
    for row in rewards:
        game.tell(row[game.ask()])
    return game


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_the_raw_scores(case: str) -> None:
    table, calls, more = noisy(), list[tuple[str, int]](), CASES[case][0]
    result = race_table(table, calls, **more)
    items = list(dict.fromkeys(item for _, item in calls))
    own = {arm: {i: float(table[i, k]) for name, i in calls if name == arm} for k, arm in enumerate(NAMES)}
    sign = -1 if result.settings.lower_is_better else 1
    assert result.n_evaluations == len(calls)
    assert result.n_rounds == len(items) == len(result.scores)
    assert result.answered == (case != "stopped")
    assert result.saved == (pytest.approx(1 - len(calls) / (3000 * 5), rel=1e-12) if result.answered else None)
    assert list(result.items) == [str(item) for item in items]
    for k, arm in enumerate(NAMES):
        leads = [own[result.leader][item] - score for item, score in own[arm].items() if item in own[result.leader]]
        assert result[arm].behind == pytest.approx(sign * sum(leads) / len(leads), rel=1e-9, abs=1e-15)
        assert (result[arm].n_items, result[arm].mean) == (result.counts[k], result.means[k])
        assert result.counts[k] == len(own[arm])
        assert result.means[k] == pytest.approx(sum(own[arm].values()) / len(own[arm]), rel=1e-12)
        np.testing.assert_array_equal(result.scores[:, k], [own[arm].get(item, math.nan) for item in items])
    by_mean = sorted(result.candidates, key=lambda arm: -sign * result.means[NAMES.index(arm)])
    assert list(result.candidates) == by_mean
    assert result.leader == by_mean[0] == ("e" if sign > 0 else "a")
    assert result.best == (result.leader if result.answered else None)
    assert {out.arm for out in result.eliminations} == set(NAMES) - set(by_mean)
    assert (result.arms, result.disqualified, result.contradiction) == (tuple(NAMES), (), None)


@pytest.mark.parametrize("case", CASES)
def test_eliminations_bounds_and_intervals_are_those_of_a_game_fed_by_hand(case: str) -> None:
    more, algorithm, rewards_of = CASES[case]
    result = race_table(noisy(), **more)
    game = by_hand(algorithm, rewards_of(result.scores))
    expected = [(NAMES[out.arm], out.round, NAMES[out.by], out.margin) for out in game.eliminations]
    assert [(out.arm, out.round, out.by, out.margin) for out in result.eliminations] == expected
    assert result.reason == (game.reason or "budget")
    assert result.regret_bound == game.regret_bound
    assert result.intervals is not None
    np.testing.assert_array_equal(result.intervals.low, intervals_of(game).low)
    np.testing.assert_array_equal(result.intervals.high, intervals_of(game).high)


def test_scores_of_rounds_in_flight_are_kept_and_not_counted() -> None:
    result = race(rounds_in_flight=4)
    assert [(out.arm, out.round) for out in result.eliminations] == [("low", 9), ("mid", 14)]
    assert result.counts.tolist() == [9, 14, 14]
    assert (~np.isnan(result.scores)).sum(axis=0).tolist() == [12, 14, 14]
    assert result.n_evaluations == 12 * 3 + 5 * 2  # rounds 15 to 17 were asked before round 14 was counted


def test_an_algorithm_without_statistics_of_differences_knows_no_intervals() -> None:
    result = race(bounds=None, items=None, algorithm=LUCB(0.1, variances=0.01), max_evaluations=5)
    assert (result.leader, result.reason, result.intervals) == ("high", "budget", None)
    assert result.lead("high", "low") == pytest.approx((0.7, math.nan, math.nan), nan_ok=True)
    assert math.isnan(result.regret_bound)
    assert np.isnan(lead_history(result).low).all()
    assert "With probability at least 0.9 the best is high, mid or low. This assumes" in result.verdict


def turning(arm: int, item: int) -> float:
    return 0.0 if arm != 1 else -1.0 if item < 3 else 4.0


KEPT = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82)
FULL = OSError("disk full")
SURE = "with probability at least 0.95"
HERE = "on these 1,000 items as scored here"
BEST = f"high is the best {HERE} {SURE}."
TOO = f"On items like these it is the best too, {SURE}."
THESE = "On items like these"
OPEN = f"{THESE} the race is not decided:"
MORE = (
    "Arms that left were not tested further for this: target='population' goes on until it is decided or the items run "
    "out."
)
LEADS = '"high" leads. With probability at least 0.95 the best'
BEATS = 'and it beats "high" by at most'
WITHIN = "This assumes that all scores lie in [0, 1] and the items"
ORDER = f"{WITHIN} come in random order; for items like these, also that these are a random sample of them."
INDEPENDENT = f"{WITHIN} are independent of each other."
OF_THOSE = "of those that could be evaluated, or the best of all is"
GAUSSIAN = ", if the differences are nearly Gaussian"
NORMAL = (
    "This assumes that the items are independent of each other and the differences between scores are nearly Gaussian "
    "(strongly skewed or discrete scores weaken the guarantee)."
)
NOT_COVERED = (
    "the guarantee does not cover them; give bounds=(low, high) if the scores have any, or compare by "
    "criterion='wins', which assumes nothing"
)
FAILED = "(evaluate('{}', {}) failed: OSError: disk full)"
NOTHING = "No answer: the race was interrupted before the first round was complete."


def one_value(arm: Any, against: Any, items: int) -> str:
    """The warning of differences that are all the same."""
    pair = f"between {arm} and {against} take only 1 distinct value (up to round {items})"
    return f"Warning: the differences {pair}: {NOT_COVERED}."


def left(arm: str, n_items: int) -> str:
    """Who is ahead over all items of a list that ran out."""
    return f'Over these {n_items} items "{arm}" has the best mean of those left.'


VERDICTS: dict[str, tuple[Callable[[], Any], str]] = {
    "decided": (race, f"{BEST} {TOO} {ORDER}"),
    "decided: stream": (lambda: race(items=None), f"high is the best {SURE}. {INDEPENDENT}"),
    "decided: population": (
        lambda: race(target="population"),
        f"high is the best on items like these {SURE}. {INDEPENDENT}",
    ),
    "decided: drawn": (
        lambda: race(replace=True),
        f"high has the best expected score on these 1,000 items {SURE}. "
        f"{INDEPENDENT.replace('the items', 'evaluations')}",
    ),
    "decided: zone": (
        lambda: race(indifference_zone=0.1),
        f"{BEST[:-1]}, if the best leads by at least 0.1. {OPEN} 2 of 3 arms may be the best, none better than high by "
        f"more than 0.105, {SURE}, if the best leads by at least 0.1. {MORE} {ORDER}",
    ),
    "decided: small delta": (
        lambda: race(delta=1e-6),
        f"{BEST} {OPEN} 3 of 3 arms may be the best, none better than high by more than 0.0216, {SURE}. {MORE} "
        f"{ORDER}".replace("0.95", "0.999999"),
    ),
    "within epsilon": (
        lambda: race(epsilon=0.5),
        f"high is within 0.5 of the best {HERE} {SURE}. {OPEN} 3 of 3 arms may be the best, none better than high by "
        f"more than 0.422, {SURE}. For this, {MORE.partition(': ')[2]} {ORDER}",
    ),
    "all items used": (
        lambda: race(items=range(3)),
        f"high has the best mean over all 3 items as scored here {SURE}. {OPEN} 3 of 3 arms may be the best, "
        f"{SURE}. {ORDER}",
    ),
    "all items used: tie": (
        lambda: race(lambda arm, item: 0.5, items=range(7)),
        f"low, mid and high tie for the best mean over all 7 items as scored here {SURE}. {OPEN} 3 of 3 arms may be "
        f"the best, {SURE}. {ORDER}",
    ),
    "ran out of items: sample": (
        lambda: race(lambda arm, item: 0.1 * item + (arm == 9), range(10), range(7), bounds=None),
        'No answer: the items ran out. "9" leads. With probability at least 0.95 the best on items like these is '
        f"9, 0, 1, 2, 3 or 5 more{GAUSSIAN}. {left('9', 7)} {NORMAL} {one_value(0, 9, 7)}",
    ),
    "ran out of items: tie of a sample": (
        lambda: race(lambda arm, item: 0.1 * item, range(7), range(7), bounds=None),
        'No answer: the items ran out. "0" leads. With probability at least 0.95 the best on items like these is '
        f"0, 1, 2, 3, 4 or 2 more{GAUSSIAN}. Over these 7 items 0, 1, 2, 3, 4 and 2 more tie for the best mean of "
        f"those left. {NORMAL} {one_value(1, 0, 7)}",
    ),
    "ran out of items: population": (
        lambda: race(items=range(3), target="population"),
        f"No answer: the items ran out. {LEADS} on items like these is high, mid or low. "
        f"{left('high', 3)} {INDEPENDENT}",
    ),
    "budget": (
        lambda: race(max_evaluations=11),
        f"No answer: the budget ran out. {LEADS} {HERE} is high, mid or low, {BEATS} 0.996. {THESE} 3 of 3 arms may be "
        f"the best, {SURE}. {ORDER}",
    ),
    "ran out of items": (
        lambda: race(items=iter("abc"), bounds=None),
        f"No answer: the items ran out. {LEADS} is high, mid or low{GAUSSIAN}. {NORMAL} {one_value('mid', 'high', 3)}",
    ),
    "interrupted": (
        lambda: race(failing({"high": 13}, KeyboardInterrupt())),
        f"No answer: the race was interrupted. {LEADS} {HERE} is high or mid, {BEATS} 0.0563. {THESE} 2 of 3 arms may "
        f"be the best, none better than high by more than 0.0619, {SURE}. {ORDER}",
    ),
    "interrupted: at once": (lambda: race(failing({"mid": 1}, KeyboardInterrupt())), NOTHING),
    "decided: disqualified": (
        lambda: race(failing({"high": 12}, FULL), on_error="disqualify", items=iter(range(100))),
        f"mid is the best {OF_THOSE} high, which could not be evaluated, {SURE}. {INDEPENDENT} "
        f"high was disqualified in round 12 {FAILED.format('high', 11)}: nothing is known about how good it is. It had "
        "eliminated low, which may be better than mid.",
    ),
    "decided: all but one disqualified": (
        lambda: race(failing({"high": 1, "low": 1}, FULL), on_error="disqualify", items=iter("ab")),
        f"mid is the best {OF_THOSE} low or high, which could not be evaluated, {SURE}. {INDEPENDENT} "
        f"low was disqualified in round 1 {FAILED.format('low', repr('a'))}: nothing is known about how good it is. "
        f"high was disqualified in round 1 {FAILED.format('high', repr('a'))}: nothing is known about how good it is.",
    ),
    "decided: contradiction": (
        lambda: race(turning, [0, 1, 2], iter(range(500)), bounds=None, algorithm=KEPT),
        f"0 is the best with probability at least 0.9{GAUSSIAN}. {NORMAL} 1 left after 3 items: what happens on "
        "fewer than one item in 2 may not have come up by then. Warning: the differences between 1 and 0 take only 1 "
        "distinct value (up to round 3), those between 2 and 1 take only 2 distinct values (up to round 41): "
        f"{NOT_COVERED}. The evidence contradicts itself: in round 41 every candidate was beaten, including 0 (by 1).",
    ),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_the_verdict_says_what_is_known_and_why(case: str) -> None:
    run, sentence = VERDICTS[case]
    result = run()
    assert result.reason == case.partition(":")[0]
    assert result.verdict == sentence
    assert " ".join(str(result).split()).startswith(" ".join(sentence.split()))
    assert " ".join(sentences(result)) == sentence
    assert max(map(len, str(result).splitlines())) <= 100


def test_a_race_that_ends_before_its_first_round_knows_nobody() -> None:
    result = race(items=iter(()))
    assert (result.best, result.reason, result.n_rounds, result.n_evaluations) == (None, "ran out of items", 0, 0)
    assert result.verdict == NOTHING.replace("race was interrupted", "items ran out")
    assert set(result.candidates) == set(LEVEL)
    assert np.isnan(result.means).all()
    assert result.scores.shape == (0, 3)
    assert json.loads(result.to_json())["regret_bound"] is None
    assert len(result.plot().axes) == 2


DECIDED = f"""\
{BEST}
{TOO}
{ORDER}
37 evaluations in 14 rounds; evaluating everything would take 3,000: 98.8% saved.
 arm    mean   items   behind
 ──────────────────────────────────────────────────────────────
 high    0.9      14            best
 mid     0.5      14      0.4   out in round 14, beaten by high
 low     0.2       9      0.7   out in round 9, beaten by high"""
UNDECIDED = f"""\
No answer: the budget ran out. "low" leads. With probability at least 0.95 the best is low or mid, or the \
best of all is high, which could not be evaluated{GAUSSIAN}.
{NORMAL}
{one_value("mid", "low", 9)}
high was disqualified in round 7 {FAILED.format("high", 6)}: nothing is known about how good it is.
25 evaluations in 9 rounds.
1 evaluation failed: high (disqualified).
 arm    mean   items   behind
 ──────────────────────────────────────────────────────
 low     0.2       9            leader
 mid     0.5       9      0.3   candidate
 high    0.9       6      0.7   disqualified in round 7"""


def unwrapped(result: Any) -> str:
    """The text form, each sentence of its verdict in one line."""
    text, said = str(result), sentences(result)
    lines = "\n".join(textwrap.fill(sentence, 100) for sentence in said)
    assert text.startswith(f"{lines}\n")
    return text.replace(lines, "\n".join(said))


def test_the_text_form_is_verdict_cost_and_table() -> None:
    assert unwrapped(race()) == DECIDED
    settings = {"bounds": None, "on_error": "disqualify", "lower_is_better": True, "max_evaluations": 26}
    assert unwrapped(race(failing({"high": 7}, FULL), items=iter(range(99)), **settings)) == UNDECIDED


def test_the_frame_has_one_row_per_arm_the_best_first() -> None:
    frame = race().to_frame()
    assert (frame.index.tolist(), frame.index.name) == (["high", "mid", "low"], "arm")
    assert frame[["status", "n_items"]].to_numpy().tolist() == [["best", 14], ["out", 14], ["out", 9]]
    assert frame["mean"].tolist() == pytest.approx([0.9, 0.5, 0.2], rel=1e-12)
    assert frame["behind"].tolist() == pytest.approx([0.0, 0.4, 0.7], rel=1e-12)
    assert frame.loc["low", ["left_in_round", "beaten_by"]].tolist() == [9, "high"]
    assert frame["failure"].isna().all()


def test_json_holds_the_result_and_null_for_what_is_not_a_number(tmp_path: Path) -> None:
    result = race(failing({"high": 1}, FULL), on_error="disqualify")
    text = result.to_json(tmp_path / "result.json")
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == text + "\n"
    plain = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    same = ("verdict", "answered", "best", "leader", "reason", "n_evaluations", "n_rounds", "saved", "regret_bound")
    assert plain["settings"] == result.settings.to_plain()
    assert (plain["format"], plain["warnings"]) == (1, [])
    assert {name: plain[name] for name in same} == {name: getattr(result, name) for name in same}
    records = {record["arm"]: record for record in plain["arms"]}
    assert (list(records), plain["candidates"]) == (["mid", "low", "high"], ["mid"])
    assert (records["high"]["mean"], records["high"]["behind"], records["high"]["n_items"]) == (None, None, 0)
    assert plain["eliminations"][0]["margin"] == result.eliminations[0].margin == records["low"]["margin"]
    assert [(out["arm"], out["by"], out["weights"]) for out in plain["eliminations"]] == [("low", "mid", None)]
    failure = result.disqualified[0].failure
    assert plain["disqualified"] == [{"arm": "high", "round": 1, "failure": failure, "had_eliminated": []}]


Solver = make_dataclass("Solver", ["level"])


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        ([Solver(0.2), Solver(0.9)], ["Solver(level=0.2)", "Solver(level=0.9)"]),
        ([min, max], ["min", "max"]),
        ([{"depth": 1}, {"depth": 2}], ["{'depth': 1}", "{'depth': 2}"]),
        ([np.int64(1), np.int64(2)], ["1", "2"]),
    ],
)
def test_arms_that_are_no_strings_go_by_their_names_in_all_forms(arms: list[Any], names: list[str]) -> None:
    result = race(lambda arm, item: 0.9 if arm == arms[1] else 0.2, arms)
    assert result.best is arms[1]
    assert result.verdict.startswith(f"{names[1]} is the best ")
    assert f"beaten by {names[1]}" in str(result)
    assert result.to_frame()["status"].tolist() == ["best", "out"]
    plain = json.loads(result.to_json())
    assert [str(record["arm"]) for record in plain["arms"]] == names[::-1]
    assert [(str(out["arm"]), str(out["by"])) for out in plain["eliminations"]] == [(names[0], names[1])]


def everything(result: Any) -> list[Any]:
    lead, bounds = lead_history(result), result.intervals
    arrays = (result.scores, result.means, result.counts, bounds.low, bounds.high, lead.lead, lead.low, lead.high)
    return [result.to_json(), str(result), result.outcome.failures, repr([array.tolist() for array in arrays])]


def test_a_result_taken_on_the_way_stays_what_it_was() -> None:
    contest = bestarm.Race([*LEVEL, "odd"], items=range(1000), bounds=(0, 1), on_error="disqualify")
    failures, taken = {("odd", 5): FULL, ("mid", 14): FULL}, list[Any]()
    while not contest.finished:
        for todo in contest.ask():
            contest.tell(todo, {arm: failures.get((arm, todo.number), LEVEL.get(arm, 0.3)) for arm in todo.arms})
        if todo.number == 12:
            taken += [contest.result(), contest.result()]
            before = everything(taken[0])
    assert [everything(result) for result in taken] == [before, before]
    result, rounds = taken[1], [failure.round for failure in contest.result().outcome.failures]
    assert ([failure.round for failure in result.outcome.failures], rounds) == ([5], [5, 14])
    assert (result.n_rounds, result.reason, result.candidates) == (12, "running", ("high", "mid"))
    again = result.new_game()
    assert again.n_rounds == 0
    result.play(again, 12)
    counts = (~np.isnan(result.scores)).sum(axis=0).tolist()
    assert (again.n_rounds, again.candidates, again.counts.tolist()) == (12, (1, 2), counts)


def test_a_race_that_a_disqualification_ends_bounds_the_regret_of_its_best() -> None:
    result = race(failing({"high": 12}, FULL), on_error="disqualify")
    assert (result.best, result.n_rounds, result.regret_bound) == ("mid", 11, 0.0)


def slow_lead(result: Any, algorithm: Any, rewards: Table, last: int) -> tuple[float, float, float]:
    """The lead over the closest of those that took part in a round, and its interval after it."""
    game, best = algorithm.start(rewards.shape[1]), result.arms.index(result.leader)
    rivals: list[int] = []
    for number, row in enumerate(rewards[:last], start=1):
        for failed in result.disqualified:
            if failed.round == number:
                game.disqualify(result.arms.index(failed.arm))
        rivals = [arm for arm in game.candidates if arm != best]
        game.tell(row[game.ask()])
    leads = {arm: float(np.mean(rewards[:last, best] - rewards[:last, arm])) for arm in rivals}
    rival = min(leads, key=lambda arm: leads[arm])
    return leads[rival], *game.lead(best, rival)[1:]


@pytest.mark.parametrize("case", [*CASES, "rivals that leave", "disqualified"])
def test_the_lead_over_the_rounds_is_that_of_a_slow_replay(case: str) -> None:
    more, algorithm, rewards_of = CASES[case if case in CASES else "student"]
    if case == "disqualified":
        result = race(failing({"high": 12}, FULL), on_error="disqualify", **more)
    else:
        result = race_table(noisy() if case in CASES else crossing(4), **more)
    history = lead_history(result)
    assert history.rounds[0] == 1
    assert history.rounds[-1] == result.n_rounds
    assert (np.diff(history.rounds) > 0).all()
    slow = [slow_lead(result, algorithm, rewards_of(result.scores), last) for last in history.rounds]
    fast = np.column_stack([history.lead, history.low, history.high])
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


def png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


def test_the_picture_shows_who_left_when_and_the_lead() -> None:
    above, below = race().plot().axes
    assert [label.get_text() for label in above.get_yticklabels()] == ["high", "mid", "low"]
    ends = [collection.get_paths()[0].vertices[-1].tolist() for collection in above.collections]
    assert ends == [[14, 0], [14, 1], [9, 2]]
    assert [text.get_text() for text in above.texts] == ["beaten by high", "beaten by high"]
    assert below.get_title(loc="left") == "lead of high over its closest rival"
    drawn = next(line for line in below.lines if len(line.get_xdata()) == 14)
    np.testing.assert_allclose(np.asarray(drawn.get_ydata()), np.full(14, 0.4), rtol=1e-12)


ODD = ["$\\frac{", ":dog:", "long " * 60, "two\nlines", "$x$", "<b>", "[/red]", "[bold]"]


@pytest.mark.parametrize("arms", [ODD, ["$", "[red]x"], [f"no {k:02}" for k in range(60)]], ids=["odd", "2", "60"])
@pytest.mark.parametrize("budget", [None, 180])
def test_any_names_and_numbers_of_arms_are_written_and_drawn(arms: list[str], budget: int | None) -> None:
    result = race(lambda arm, item: arms.index(arm) / len(arms), arms, max_evaluations=budget)
    table = str(result).split("\n arm ")[1].splitlines()
    written = " ".join(table).split()
    words = [name_of(arm).split() for arm in arms]
    assert all(written.count(word) >= some.count(word) for some in words for word in some if len(word) < 9)
    assert max(map(len, table)) <= 100
    figure = result.plot()
    assert png(figure).startswith(b"\x89PNG")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == min(len(arms), 40)
    assert max(map(len, labels)) <= 28
    more = " (20 more arms not shown)" if len(arms) > 40 else ""
    assert figure.axes[0].get_title(loc="left") == f"who left when{more}"
    contest = bestarm.Race(arms, items=range(9), bounds=(0, 1))
    contest.tell(contest.ask()[0], {arm: k / len(arms) for k, arm in enumerate(arms)})
    assert f"{len(arms)} of {len(arms)}: {arms[-1].split()[0]}" in shown(contest)


def shown(contest: bestarm.Race[Any]) -> str:
    page = io.StringIO()
    Console(file=page, width=120, color_system=None).print(live.picture(contest.standing()))
    return page.getvalue()


def test_the_display_shows_who_is_in_the_lead_and_what_is_spent() -> None:
    assert shown(bestarm.Race(["a", "b"])).split() == ["round", "0", "evaluations", "2", "saved", "so", "far", "0"]
    contest = bestarm.Race(list(LEVEL), items=range(1000), bounds=(0, 1))
    for number in range(1, 13):
        contest.ask()
        contest.tell(number, {arm: LEVEL[arm] for arm in LEVEL if arm != "low" or number <= 9})
    bound = contest.state.game.regret_bound or 0.0
    lines = [" ".join(line.split()) for line in shown(contest).splitlines()]
    assert lines[:2] == ["round 12", "evaluations 35 of 3,000"]
    assert lines[3:] == [
        "saved so far 4",
        "still in 2 of 3: high and mid",
        f"leader high, 0.4 ahead of mid; no arm is better by more than {bound:.3g}",
    ]


def test_the_display_is_drawn_at_most_so_often_and_takes_a_tenth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    drawn, cost = list[float](), 0.0

    def draw(picture: Any, refresh: bool) -> None:
        drawn.append(clock.now)
        clock.now += cost

    monkeypatch.setattr(live, "time", clock)
    terminal: Any = SimpleNamespace(update=draw)
    display = live.LiveDisplay(bestarm.Race(list(LEVEL)).standing, terminal)
    for clock.now in (100.0, 100.125, 100.1875, 100.25, 100.375, 100.5):
        display.update()
    assert drawn == [100.0, 100.25, 100.5]
    cost = 2.0
    for clock.now in (101.0, 104.0, 122.5, 123.0):  # drawn in 101 to 103, so not again before 123
        display.update()
    assert drawn[3:] == [101.0, 123.0]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_display_is_on_standard_error_of_a_terminal(
    wanted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    race(progress=True)
    assert capsys.readouterr() == ("", "")  # no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    race(progress=wanted)
    out, err = capsys.readouterr()
    assert (out, "still in" in err) == ("", wanted)
