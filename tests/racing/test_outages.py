"""A round in which no candidate can be evaluated ends a race undecided; continued, it is evaluated again."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError, Race, RaceResult, StoreError, load_result
from bestarm.algorithms import Game, Reason
from bestarm.racing import Outage
from own_games import Playing
from race_files import Memory, RaceFile
from row_races import Way, ways
from small_race import LEVEL, run, share

AT = 3  # rounds before the network goes down
IN_ORDER = tuple(int(item) for item in run(share, max_evaluations=90).items)
LOST = set(IN_ORDER[AT:])


class Network:
    """Evaluations over a network that goes down, for all arms or some, from an item on."""

    def __init__(self, arms: tuple[str, ...] = tuple(LEVEL)) -> None:
        self.down = True
        self.arms = arms
        self.calls = Counter[tuple[str, int]]()

    def __call__(self, arm: str, item: int) -> float:
        self.calls[arm, item] += 1
        if self.down and arm in self.arms and item in LOST:
            raise ConnectionError("no network")
        return share(arm, item)


def told(result: RaceResult[Any]) -> tuple[str, str]:
    return str(result), result.to_json()


THREE = {"rounds_in_flight": 3}
in_turn, on_threads, awaited, jointly = ways(run)


@pytest.mark.parametrize(
    ("way", "options"),
    [
        *((in_turn, {}), (in_turn, THREE), (on_threads, THREE), (awaited, {}), (jointly, {})),
        (in_turn, {"groups": list(range(500))}),
    ],
)
def test_a_race_ends_undecided_and_goes_on_where_it_was(way: Way, options: dict[str, Any], tmp_path: Path) -> None:
    network, file, race = Network(), tmp_path / "race.sqlite", partial(way, **options)
    result = race(network, on_error="disqualify", store=file)
    assert (result.reason, result.answered, result.best, result.leader) == (Reason.OUTAGE, False, None, "high")
    assert result.outage is not None
    assert (result.outage.round, result.n_rounds, len(result.candidates)) == (AT + 1, AT, 3)
    assert result.disqualified == ()
    assert "ConnectionError: no network" in result.outage.failure
    assert result.verdict.startswith("UNDECIDED: high, mid or low ")
    assert "\nStopped by failures: high leads by " in result.verdict
    assert "Warning: no candidate could be evaluated in round 4 (" in str(result)
    said = " ".join(result.explain().split())
    assert "No answer: no candidate could be evaluated in round 4 (" in said
    assert "Nobody was disqualified for that" in said
    assert told(load_result(file)) == told(result)
    result.to_html(tmp_path / "page.html")
    assert "no candidate could be evaluated in round 4" in (tmp_path / "page.html").read_text()
    kept = {(row[0], row[1]) for row in RaceFile(file).scores() if row[2] is not None}
    network.down = False
    network.calls.clear()
    whole = race(network, on_error="disqualify", store=file)
    assert (whole.best, whole.reason, whole.outage, whole.disqualified) == ("high", "decided", None, ())
    assert told(whole) == told(race(Network(arms=()), on_error="disqualify")) == told(load_result(file))
    assert len(kept) == 3 * AT
    assert not any(item in IN_ORDER[:AT] for _, item in network.calls)  # nothing is run again that had a score
    assert set(network.calls.values()) == {1}


def test_a_race_without_a_store_says_what_happened_too() -> None:
    first = run(lambda arm, item: 1 / 0, on_error="disqualify")
    assert (first.n_rounds, first.leader, first.outage.item) == (0, None, str(IN_ORDER[0]))
    assert first.verdict.startswith("NO ANSWER: every evaluation of round 1 failed (the first: evaluate('low', ")
    assert json.loads(first.to_json())["outage"]["round"] == 1


def test_who_failed_alone_before_stays_disqualified(tmp_path: Path) -> None:
    network, file = Network(), tmp_path / "race.sqlite"

    def evaluate(arm: str, item: int) -> float:
        if (arm, item) == ("mid", IN_ORDER[1]):
            raise ValueError("its own fault")
        return network(arm, item)

    result = run(evaluate, on_error="disqualify", store=file)
    assert (result.reason, [one.arm for one in result.disqualified], result.candidates) == (
        "outage",
        ["mid"],
        ("high", "low"),
    )
    network.down = False
    whole = run(evaluate, on_error="disqualify", store=file)
    assert (whole.best, [one.arm for one in whole.disqualified]) == ("high", ["mid"])


@pytest.mark.parametrize("rounds_in_flight", [1, 3])
def test_exceptions_told_for_all_arms_end_a_race(rounds_in_flight: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "rounds_in_flight": rounds_in_flight}
    options |= {"on_error": "disqualify", "store": tmp_path / "race.sqlite"}
    with Race(LEVEL, **options) as race:
        rounds = race.ask()
        for todo in reversed(rounds):
            race.tell(todo, {arm: OSError("down") for arm in ("mid", "high")})
            assert not race.finished
            race.tell(todo.number, {"low": EvaluationError("down")})
        assert race.reason == "outage"
        with pytest.raises(RuntimeError, match=r"the race has ended \(outage\): nothing to ask"):
            race.ask()
    assert load_result(tmp_path / "race.sqlite").outage == Outage(1, str(IN_ORDER[0]), "down")
    with Race(LEVEL, **options) as race:
        assert race.ask() == rounds
        assert not race.finished


def test_a_part_that_was_stored_before_the_outage_is_kept(tmp_path: Path) -> None:
    """Rounds in flight: the second has a score and a failure, the first failed for all."""
    options: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "rounds_in_flight": 2}
    options |= {"on_error": "disqualify", "store": tmp_path / "race.sqlite"}
    with Race(LEVEL, **options) as race:
        first, second = race.ask()
        race.tell(second, {"low": 0.5, "mid": OSError("down")})
        race.tell(first, dict.fromkeys(LEVEL, OSError("down")))
        assert race.reason == "outage"
    with Race(LEVEL, **options) as race:
        assert [todo.arms for todo in race.ask()] == [("low", "mid", "high"), ("mid", "high")]


def test_a_kill_while_the_round_is_evaluated_again_disqualifies_nobody(tmp_path: Path) -> None:
    options: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "on_error": "disqualify"}
    options["store"] = tmp_path / "race.sqlite"
    with Race(LEVEL, **options) as race:
        race.tell(race.ask()[0], dict.fromkeys(LEVEL, OSError("down")))
    with Race(LEVEL, **options) as race:
        race.tell(race.ask()[0], {"mid": 0.5})
    with Race(LEVEL, **options) as race:
        [todo] = race.ask()
        assert todo.arms == ("low", "high")
        race.tell(todo, {"low": 0.5, "high": 0.6})
        assert race.result().disqualified == ()


def test_a_file_of_an_earlier_version_with_all_failures_in_it_opens(tmp_path: Path) -> None:
    """Earlier versions stored the failures and could not open the file again."""
    network, file = Network(arms=()), tmp_path / "race.sqlite"
    run(network, on_error="disqualify", store=file, max_evaluations=3 * AT)
    store = RaceFile(file)
    store.execute("INSERT INTO rounds VALUES (?, ?, 3)", values=(AT + 1, str(IN_ORDER[AT])))
    for arm in range(3):
        failed = (AT + 1, arm, "evaluate(...) failed: OSError: down")
        store.execute("INSERT INTO scores VALUES (?, ?, NULL, ?)", values=failed)
    for name in ("reason", "max_evaluations"):
        store.put(name, None)
    shown = load_result(file)
    assert (shown.reason, shown.n_rounds, shown.disqualified) == ("outage", AT, ())
    assert told(run(network, on_error="disqualify", store=file)) == told(run(network, on_error="disqualify"))


def test_rows_that_go_on_after_an_outage_are_damaged(tmp_path: Path) -> None:
    file = tmp_path / "race.sqlite"
    run(on_error="disqualify", store=file)
    RaceFile(file).execute("UPDATE scores SET score = NULL, failure = 'down' WHERE round = 2")
    with pytest.raises(StoreError, match="it is damaged: it goes on after round 2, in which all candidates failed"):
        load_result(file)


class Forgetting(Memory):
    def drop_failures(self, first: int) -> None:
        self.scores = [row for row in self.scores if row[0] < first or row[2] is not None]


def test_a_store_of_the_user_must_be_able_to_forget() -> None:
    for store in (Memory(), Forgetting()):
        network = Network()
        assert run(network, on_error="disqualify", store=store).reason == "outage"
        network.down = False
        if isinstance(store, Forgetting):
            assert run(network, on_error="disqualify", store=store).best == "high"
        else:
            with pytest.raises(StoreError, match="in round 4, and this store has no method drop_failures to forget"):
                run(network, on_error="disqualify", store=store)


class TwoAtATime(Game):
    """Asks for two arms, then for the other two, and can do without any."""

    no_disqualification = None

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.gone: set[int] = set()

    def next_arms(self) -> Any:
        pair = (0, 1) if self.n_rounds % 2 == 0 else (2, 3)
        left = [arm for arm in pair if arm not in self.gone]
        return np.array(left or [arm for arm in range(4) if arm not in self.gone])

    @property
    def candidates(self) -> tuple[int, ...]:
        return tuple(arm for arm in range(4) if arm not in self.gone)

    @property
    def reason(self) -> str | None:
        return "decided" if self.n_rounds == 6 else None

    def take_out(self, arm: int) -> None:
        self.gone.add(arm)


@pytest.mark.parametrize("rounds_in_flight", [1, 3])
def test_a_game_that_asks_for_some_arms_ends_when_all_of_them_fail(rounds_in_flight: int) -> None:
    def evaluate(arm: str, item: int) -> float:
        if arm in "cd":
            raise OSError("down")
        return 0.5

    options: dict[str, Any] = {"algorithm": Playing(TwoAtATime), "on_error": "disqualify", "progress": False}
    result = bestarm.race(evaluate, arms=list("abcd"), rounds_in_flight=rounds_in_flight, **options)
    assert (result.reason, result.n_rounds) == ("outage", rounds_in_flight)  # the first of them ask for a and b
    assert result.candidates == ("a", "b", "c", "d")
