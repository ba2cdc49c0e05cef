"""Random arguments to all public functions, classes and methods: refused in one sentence, or an ordinary result."""

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bestarm
from attacks import bad_values
from attacks.call_targets import Target, targets
from attacks.judging import REFUSALS, Fault, OwnError, judge
from attacks.pool import Case, warm_up
from bestarm.racing import evaluation

Note = Callable[[str], None]
WEIGHTS = {"race": 40, "Race": 40, "race_table": 40, "race_in_store": 15, "race_commands": 5, "plan": 1}
COSTLY = ("repetitions", "n_arms", "n_items", "n", "retries", "n_rounds", "pool", "max_rounds", "sparsity", "size")


def prepare(folder: Path) -> Case:
    """Cases of one call each."""
    warnings.simplefilter("ignore")
    evaluation.FIRST_PAUSE = 0.0  # nobody waits before an evaluation is tried again
    (folder / "written").mkdir()
    all_of_them = targets(folder)
    weights = [WEIGHTS.get(target.name, 5) for target in all_of_them]

    def case(luck: random.Random, note: Note) -> str:
        (target,) = luck.choices(all_of_them, weights)
        return called(target, luck, note, folder)

    warm_up(case, 60)
    return case


def called(target: Target, luck: random.Random, note: Note, folder: Path) -> str:
    """Call it with some arguments replaced by what nobody expects."""
    given = {name: luck.choice(values) for name, values in target.given.items()}
    for name, values in target.optional.items():
        if luck.random() < 0.1:
            given[name] = luck.choice(values)
    free = [name for name in given if name not in target.fixed]
    for name in luck.sample(free, min(len(free), luck.choice((0, 1, 1, 1, 2)))):
        given[name] = bad_values.value(luck, big=name not in COSTLY)
    if luck.random() < 0.02:
        given[luck.choice(("foo", "Delta", "arm", "bound"))] = 1
    note(f"{target.name} {bad_values.shown(given)}")
    if target.name == "race_in_store":
        for file in (folder / "written").glob("*.sqlite*"):
            file.unlink()
    try:
        result = target.call(luck, **given)
    except OwnError:
        return "own error"
    except KeyboardInterrupt:
        return "interrupted"
    except Exception as error:
        if comes_from_own(error):
            return "own error"
        return judge(error, (*REFUSALS, *target.errors))
    return spoken(result)


def comes_from_own(error: BaseException) -> bool:
    """Whether an error is there because a hostile object failed, and says so."""
    return isinstance(error.__cause__, OwnError) and not isinstance(error, MemoryError | RecursionError)


def spoken(result: Any) -> str:
    """A result must be able to speak."""
    if isinstance(result, bestarm.RaceResult):
        try:
            str(result)
            result.to_json()
            _ = result.regret_bound, result.for_population, result.records, result.verdict
        except OwnError:
            return "own error"
        except Exception as error:
            where = f"{type(error).__name__}: {str(error)[:200]}"
            raise Fault(f"a result cannot be shown: {where}") from error
        return f"raced {result.reason}"
    return "done"
