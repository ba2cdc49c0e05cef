"""Races of programs: run as they are given, without a shell; scored, killed, refused; in what order, on what items."""

import json
import random
import re
import shlex
import sys
from collections import Counter
from itertools import chain, pairwise, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bestarm
from bestarm import EvaluationError, StoreError, race_commands
from bestarm.sources import processes
from bestarm.sources.programs import Command, CommandError, Measure, Measured, last_number
from conftest import Refused

Runs = list[tuple[str, Any]]
NASTY = "a  b; touch pwned && $(touch pwned) `touch pwned` | tee pwned > pwned \"q\" 'r' * ~ $HOME \\ {x} %s\nü -"


def python(code: str, *arguments: str) -> list[str]:
    """A program as words: the interpreter without its site-packages starts fast."""
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def command(*words: str, score: Measured = "stdout", timeout: float = 60.0) -> Command:
    return Command(words, score, timeout)


NOTE = "import sys, json; open('noted', 'a').write(json.dumps(sys.argv[1:]) + '\\n'); print(1)"


def noted() -> list[Any]:
    """The arguments that programs noted."""
    return [json.loads(line) for line in Path("noted").read_text(encoding="utf-8").splitlines()]


# --- words -----------------------------------------------------------------------------------------------------------


def test_words_and_items_reach_the_program_as_they_are() -> None:
    words = ["; touch pwned", "&&", "$(touch pwned)", "two words", "\"'", "{item}", "<{item}|{item}>", "{ item }", ""]
    assert command(*python(NOTE, *words))(NASTY) == 1.0
    assert noted() == [[*words[:5], NASTY, f"<{NASTY}|{NASTY}>", "{ item }", ""]]
    assert {path.name for path in Path().iterdir()} == {"noted"}


def test_text_is_split_into_words_as_a_shell_would_and_nothing_else_of_a_shell() -> None:
    more = """ 'two words' a\\ b "c'd" ; && $(touch pwned) $HOME * ~ >pwned '{item}'-{item}"""
    (parsed,) = Measure("stdout", 60.0).of([shlex.join(python(NOTE)) + more], with_items=True).values()
    assert parsed(NASTY) == 1.0
    words = ["two words", "a b", "c'd", ";", "&&", "$(touch", "pwned)", "$HOME", "*", "~", ">pwned", f"{NASTY}-{NASTY}"]
    assert noted() == [words]
    assert {path.name for path in Path().iterdir()} == {"noted"}


@pytest.mark.parametrize(
    ("item", "text"), [("--help", "--help"), ("", ""), (0.5, "0.5"), ({"b": [1], "a": "ü"}, '{"a": "ü", "b": [1]}')]
)
def test_items_are_one_argument_and_given_as_json_if_they_are_no_text(item: Any, text: str) -> None:
    command(*python(NOTE, "{item}"))(item)
    assert noted() == [[text]]


def test_the_item_may_be_the_program_itself() -> None:
    assert command("{item}", "-I", "-S", "-c", "print(7)")(sys.executable) == 7.0


def test_programs_read_nothing_from_the_terminal() -> None:
    assert command(*python("import sys; print(len(sys.stdin.read()))"))(0) == 0.0


def test_commands_have_the_names_of_a_mapping_or_their_own_text() -> None:
    given = {"one": "prog 'a b' {item}", "two": ["prog", "a b", "{item}"]}
    parsed = Measure("time", 5).of(given, with_items=True)
    expected = Command(("prog", "a b", "{item}"), "time", 5.0)
    assert parsed == {"one": expected, "two": expected}
    assert list(Measure("stdout", 0.5).of(("b  x", "a"), with_items=False).items()) == [
        ("b  x", Command(("b", "x"), "stdout", 0.5)),
        ("a", Command(("a",), "stdout", 0.5)),
    ]


# --- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "number"),
    [("5", 5.0), ("1 2\n3\n", 3.0), ("-2.5", -2.5), ("+2.5e-3\n\n", 0.0025), ("x = .5E+2", 50.0), ("score:\t-0", 0.0)],
)
def test_the_last_word_is_the_score(printed: str, number: float) -> None:
    assert last_number(printed.encode()) == number


@pytest.mark.parametrize(
    "printed", ["", "e5", "+ . -", "v2", "12ms", "0x1F", "1,234", "2.5 1,5", "0.93.", "2 93%", "12 EUR", "\u22122.5"]
)
def test_a_last_word_that_is_no_number_is_no_score(printed: str) -> None:
    why = re.escape(f"it printed no number as its last word{f' ({printed})' if printed else ''}")
    with pytest.raises(CommandError, match=f"^{why}$"):
        last_number(printed.encode())


def test_a_word_that_lost_its_beginning_is_no_score() -> None:
    assert last_number(b"23 " + b"x" * 2000 + b" 7", cut=True) == 7.0
    for cut in (b"5", b"5" * 5000, b"\x88\x925"):
        with pytest.raises(CommandError, match=r"^it printed no number as its last word"):
            last_number(cut, cut=True)


def test_only_standard_output_is_read_and_other_bytes_do_not_matter() -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff\\x00 1.5'); sys.stderr.write('2.5')"
    assert command(*python(code))(0) == 1.5


def test_time_is_what_the_clock_shows_between_start_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = chain([10.0], repeat(12.5))
    monkeypatch.setattr(processes, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert command(*python("print(99)"), score="time")(0) == 2.5


# --- failures --------------------------------------------------------------------------------------------------------

FAILURES: dict[str, tuple[list[str], str]] = {
    "exit code": (python("import sys; sys.exit(3)"), "exit code 3"),
    "its last words": (python("import sys; print(4); sys.exit('no\\n  licence')"), "exit code 1 (no licence)"),
    "many words": (python("import sys; sys.exit('x' * 999 + 'y')"), f"exit code 1 ({'x' * 199}y)"),
    "no text": (python("import os; os.write(2, b'\\xff!'); os._exit(2)"), "exit code 2 (\ufffd!)"),
    "signal": (python("import os; os.kill(os.getpid(), 15)"), "it was ended by signal SIGTERM"),
    "no number": (python("print('hello', 'world')"), "it printed no number as its last word (hello world)"),
    "nothing": (python("pass"), "it printed no number as its last word"),
    "no program": (["./no such program", "x"], "there is no program './no such program'"),
    "no program on the path": (["no-such-program-of-bestarm"], "there is no program 'no-such-program-of-bestarm'"),
    "not executable": (["./plain"], "'./plain' cannot be run: [Errno 13] Permission denied: './plain'"),
    "not a program": (["./text"], "'./text' cannot be run: [Errno 8] Exec format error: './text'"),
    "a folder": (["."], "'.' cannot be run: [Errno 13] Permission denied: '.'"),
}


@pytest.mark.parametrize("item", ["a\0b", "\ud800"])
def test_items_that_no_argument_can_hold_are_refused(item: str) -> None:
    with pytest.raises(CommandError, match=r"NUL character|surrogates not allowed"):
        command("echo", "{item}")(item)


def test_a_folder_that_does_not_exist_is_not_a_missing_program() -> None:
    with pytest.raises(CommandError, match=r"^there is no folder 'nowhere' to run it in$"):
        Command(("true",), "time", 60.0, "nowhere")(0)


@pytest.mark.parametrize("case", FAILURES)
def test_a_program_that_gives_no_score_says_why(case: str) -> None:
    for name in ("plain", "text"):
        Path(name).write_text("print(1)\n", encoding="utf-8")
    Path("text").chmod(0o755)
    words, message = FAILURES[case]
    given = {"bad": [*words, "{item}"], "good": python("print(1)", "{item}")}
    whole = re.escape(f"'bad' failed on 'an item': {message}")
    with pytest.raises(EvaluationError, match=rf"^{whole} \(see retries and on_error\)$"):
        race_commands(given, items=iter(["an item"]), score="stdout", progress=False)


# --- order and items, with programs that only pretend to run ---------------------------------------------------------


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """What was run, on which items; scores depend on the item and the length of the program's name."""
    done: Runs = []

    def pretend(self: Command, item: Any) -> float:
        done.append((self.words[0], item))
        length = len(self.words[0])
        return 0.25 * length + random.Random(f"{length} {item}").random()  # noqa: S311

    monkeypatch.setattr(Command, "__call__", pretend)
    return done


def rounds_of(runs: Runs, n_arms: int) -> list[Runs]:
    return [runs[k : k + n_arms] for k in range(0, len(runs), n_arms)]


EQUAL = ["a {item}", "b {item}", "c {item}"]


def test_programs_take_turns_in_a_random_order_on_items_drawn_again_and_again_by_the_seed(runs: Runs) -> None:
    orders, drawn = [], []
    for seed in (3, 3, 4):
        result = race_commands(EQUAL, items=("x", "y", "z"), seed=seed, max_evaluations=900, progress=False)
        assert (result.settings.items, result.saved, result.reason) == ("drawn", None, "budget")
        assert (result.settings.n_items, result.target, result.for_population) == (3, "items", None)
        rounds = rounds_of(runs, 3)
        assert all(len({item for _, item in one}) == 1 for one in rounds)
        orders.append(["".join(name for name, _ in one) for one in rounds])
        drawn.append("".join(one[0][1] for one in rounds))
        runs.clear()
    for first, again, other in (orders, drawn):
        assert first == again != other
    counts, pairs = Counter(orders[0]), Counter(pairwise(drawn[0]))
    assert set(counts) == {"abc", "acb", "bac", "bca", "cab", "cba"}
    assert all(20 <= count <= 80 for count in counts.values())  # 50 expected, standard deviation 6.5
    assert len(pairs) == 9  # independent draws: every item follows every item, itself too
    assert all(12 <= count <= 60 for count in pairs.values())  # 33 expected, standard deviation 5.4


def test_items_to_score_are_a_pool_and_iterators_a_stream_and_nothing_gives_seeds(runs: Runs) -> None:
    result = race_commands(EQUAL[:2], items=list("xyz"), score="stdout", progress=False)
    assert (result.settings.items, result.reason) == ("pool", "ran out of items")
    assert sorted(item for name, item in runs if name == "a") == ["x", "y", "z"]
    runs.clear()
    result = race_commands(EQUAL[:2], items=iter("zzy"), progress=False)
    assert (result.settings.items, result.reason) == ("stream", "ran out of items")
    assert [one[0][1] for one in rounds_of(runs, 2)] == ["z", "z", "y"]
    runs.clear()
    result = race_commands(["a", "b"], max_evaluations=40, progress=False)
    assert result.settings.items == "seeds"
    assert len({item for _, item in runs}) == 20


@pytest.mark.parametrize(("score", "best"), [("time", "s"), ("stdout", "ssss")])
def test_less_is_better_for_times_only_unless_it_is_said(runs: Runs, score: Measured, best: str) -> None:
    given = {"s": "s {item}", "ssss": "ssss {item}"}
    items = [str(k) for k in range(500)]
    assert race_commands(given, items=items, score=score, progress=False).best == best
    other = race_commands(given, items=items, score=score, lower_is_better=score == "stdout", progress=False)
    assert {other.best, best} == {"s", "ssss"}


def test_a_race_of_programs_is_the_race_of_what_they_print() -> None:
    code = "import sys; print('score', (int(sys.argv[1]) * 37 % 101 + float(sys.argv[2])) / 200)"
    given = {"low": python(code, "{item}", "10"), "high": shlex.join(python(code, "{item}", "90"))}
    items = [str(k) for k in range(60)]
    options: dict[str, Any] = {"bounds": (0, 1), "seed": 3, "epsilon": 0.01, "progress": False}
    expected = bestarm.race(
        lambda arm, item: (int(item) * 37 % 101 + (10.0 if arm == "low" else 90.0)) / 200,
        arms=list(given),
        items=items,
        **options,
    )
    assert race_commands(given, items=items, score="stdout", **options).to_json() == expected.to_json()
    assert (expected.best, expected.reason) == ("high", "decided")


# --- on disk, and failures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["time", "stdout"])
def test_a_stored_race_goes_on_and_ends_as_an_uninterrupted_one(runs: Runs, score: str) -> None:
    items = [str(k) for k in range(400)]
    given = {"one": "pp {item}", "two": ["ppp", "{item}"], "three": "p {item}"}
    options: dict[str, Any] = {"score": score, "seed": 6, "progress": False}
    whole = race_commands(given, items=items, **options)
    expected = list(runs)
    runs.clear()
    first = race_commands(given, items=items, store="race.sqlite", max_evaluations=24, **options)
    assert (first.reason, first.n_evaluations, len(runs)) == ("budget", 24, 24)
    resumed = race_commands(given, items=items, store="race.sqlite", **options)
    assert resumed.to_json() == whole.to_json()
    assert runs == expected  # nothing was run twice
    assert bestarm.load_result("race.sqlite").to_json() == whole.to_json()
    with pytest.raises(StoreError, match="the items are not the same"):
        race_commands(given, items=[*items[:-200], *map(str, range(900, 1100))], store="race.sqlite", **options)


def test_times_in_a_file_are_not_continued_with_other_scores(runs: Runs) -> None:
    race_commands(["a", "b"], store="race.sqlite", max_evaluations=8, progress=False)
    with pytest.raises(StoreError, match="holds another race"):
        race_commands(["a", "b"], score="stdout", lower_is_better=True, store="race.sqlite", progress=False)


CONSTANT = {"low": python("print(0.25)"), "high": python("print(0.75)")}


def test_failures_may_disqualify_and_tell_why() -> None:
    given = CONSTANT | {"gone": ["./no-such-program"], "slow": python("import time; time.sleep(60)")}
    result = race_commands(
        given, score="stdout", timeout=1.0, on_error="disqualify", progress=False, store="race.sqlite"
    )
    assert (result.best, result.candidates) == ("high", ("high",))
    failures = {out.arm: out.failure.partition(": ")[2] for out in result.disqualified}
    assert failures == {
        "gone": "there is no program './no-such-program'",
        "slow": "it took longer than the timeout of 1 seconds",
    }


# --- bad input: how it is worded is in tests/test_messages.py ---------------------------------------------------------

TWO = ["a {item}", "b {item}"]


@pytest.mark.parametrize(
    "commands", [[], ["a", " "], {"x": "a", "y": []}, {"x": "a", "": "b"}, ["a", "b", "a"]], ids=str
)
def test_commands_that_are_no_arms_are_refused(commands: Any, runs: Runs) -> None:
    with pytest.raises(ValueError, match=r"at least two arms|must name a program|must have a name|more than once"):
        race_commands(commands)
    assert runs == []


@pytest.mark.parametrize("commands", [["a {item}", "b"], {"n {item}": "a", "b": "b {item}"}], ids=str)
@pytest.mark.parametrize("kind", [list, iter])
def test_items_need_a_place_in_every_command(commands: Any, kind: Any, runs: Runs) -> None:
    with pytest.raises(ValueError, match=r"has no \{item\} in it"):
        race_commands(commands, items=kind(["x", "y"]))
    assert runs == []


@pytest.mark.parametrize(
    ("parameter", "value", "more"),
    [
        ("score", "size", {}),
        ("timeout", 0, {}),
        ("timeout", float("nan"), {}),
        ("items", [], {}),
        ("items", ["x"], {"score": "stdout"}),
        ("seed", -1, {"items": ["x"]}),
        ("retries", -1, {}),
        ("on_error", "ignore", {}),
        ("on_error", "worst", {}),
        ("max_evaluations", 1, {}),
        ("delta", 0.0, {}),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    parameter: str, value: Any, more: dict[str, Any], runs: Runs, refused: Refused
) -> None:
    with refused(parameter, value):
        race_commands(TWO, **{parameter: value}, **more)
    assert runs == []


@pytest.mark.parametrize("score", ["time", "stdout"])
def test_text_is_no_list_of_items(score: Measured, runs: Runs, refused: Refused) -> None:
    with refused("items", "xy", TypeError):
        race_commands(TWO, items="xy", score=score)
    assert runs == []
