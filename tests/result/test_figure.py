"""The picture of a race: who left when, and the leader's lead over the rounds against a slow replay."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import PairwiseBAI
from bestarm.comparisons import LeaderBetting, StudentMixture

Table = NDArray[np.float64]
Race = Callable[..., Any]


def noisy(n_arms: int = 5) -> Table:
    rng = np.random.default_rng(3)
    levels = np.array([0.0, 0.04, 0.05, 0.12, 0.2])[-n_arms:]
    table: Table = 0.5 * rng.random((3000, 1)) + 0.3 * rng.random((3000, n_arms)) + levels
    return table


def crossing() -> Table:
    """The second is close to the first and leaves soon; the third is far behind and noisy, and leaves late."""
    rng = np.random.default_rng(4)
    first, noise = rng.standard_normal((3000, 1)), rng.standard_normal((3000, 2))
    return np.hstack([first, first - 0.02 + 0.03 * noise[:, :1], -0.25 + noise[:, 1:]])


BETTING, STUDENT = LeaderBetting(bounds=(0, 1), pool=3000), StudentMixture(min_rounds=10)
GAUSSIAN = PairwiseBAI(0.05, comparison=STUDENT)
CASES: dict[str, tuple[Table, dict[str, Any], PairwiseBAI, float]] = {
    "bounded": (noisy(), {}, PairwiseBAI(0.05, comparison=BETTING), 1.0),
    "bounded, lower": (noisy(), {"lower_is_better": True, "delta": 0.1}, PairwiseBAI(0.1, comparison=BETTING), -1.0),
    "lower": (
        noisy(),
        {"bounds": None, "lower_is_better": True, "epsilon": 0.01},
        PairwiseBAI(0.05, comparison=STUDENT, epsilon=0.01),
        -1.0,
    ),
    "stopped": (noisy(), {"bounds": None, "max_evaluations": 70}, GAUSSIAN, 1.0),
    "rivals that leave": (crossing(), {"bounds": None}, GAUSSIAN, 1.0),
    "disqualified": (noisy(3), {"bounds": None, "on_error": "disqualify"}, GAUSSIAN, 1.0),
}


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


@pytest.mark.parametrize("case", CASES)
def test_the_lead_over_the_rounds_is_that_of_a_slow_replay(race: Race, case: str) -> None:
    table, options, algorithm, sign = CASES[case]
    calls = list[int]()

    def evaluate(arm: int, item: int) -> float:
        calls.append(arm)
        if case == "disqualified" and arm == 2 and calls.count(2) == 12:
            raise OSError("disk full")
        return float(table[item, arm])

    result = race(evaluate, range(table.shape[1]), range(len(table)), **options)
    history = result.lead_history
    assert (case == "disqualified") == (len(result.disqualified) == 1)
    assert history.rounds[0] == 1
    assert history.rounds[-1] == result.n_rounds
    assert (np.diff(history.rounds) > 0).all()
    rewards = result.scores if sign > 0 else 1 - result.scores if result.bounds else -result.scores
    slow = [slow_lead(result, algorithm, rewards, last) for last in history.rounds]
    fast = np.column_stack([history.lead, history.low, history.high])
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


def test_the_picture_shows_who_left_when_and_the_lead(race: Race) -> None:
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
def test_any_names_and_numbers_of_arms_are_written_and_drawn(race: Race, arms: list[str], budget: int | None) -> None:
    result = race(lambda arm, item: arms.index(arm) / len(arms), arms, max_evaluations=budget)
    table = str(result).split("\n arm ")[1].splitlines()
    written = " ".join(table).split()
    words = [arm.replace("\n", r"\n").split() for arm in arms]
    assert all(written.count(word) >= some.count(word) for some in words if len(some) < 9 for word in some)
    assert max(map(len, table)) <= 100
    figure, file = result.plot(), io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    assert file.getvalue().startswith(b"\x89PNG")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == min(len(arms), 40)
    assert max(map(len, labels)) <= 28
    more = " (20 more arms not shown)" if len(arms) > 40 else ""
    assert figure.axes[0].get_title(loc="left") == f"who left when{more}"
