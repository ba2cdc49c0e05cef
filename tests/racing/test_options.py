"""Options are said once: they have the same names and defaults in all calls."""

import inspect
from dataclasses import fields

import pytest

import bestarm
from bestarm.algorithms import LUCB
from bestarm.racing import options


def test_options_have_the_same_names_and_defaults_everywhere() -> None:
    signature = inspect.signature(bestarm.race).parameters
    for field in fields(options.Options):
        if field.name not in ("usual_in_flight", "origin", "own_range"):
            assert signature[field.name].default == field.default
    for kind in (options.PlanOptions, options.TableOptions, options.CommandOptions, options.RaceOptions):
        assert set(kind.__annotations__) <= set(signature)


@pytest.mark.parametrize("name", ["detla", "usual_in_flight", "origin", "own_range", "executor"])
def test_options_that_do_not_exist_are_refused_as_python_does(name: str) -> None:
    with pytest.raises(TypeError, match=f"^Race\\(\\) got an unexpected keyword argument '{name}'"):
        bestarm.Race(["a", "b"], **{name: 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^race_table\(\) got an unexpected keyword argument 'store'"):
        bestarm.race_table([[1.0, 2.0], [2.0, 1.0]], store="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^plan\(\) got an unexpected keyword argument 'algorithm'"):
        bestarm.plan([[1.0, 2.0]] * 9, algorithm=LUCB())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^race_commands\(\) got an unexpected keyword argument 'rounds_in_flight'"):
        bestarm.race_commands(["true", "false"], rounds_in_flight=2)  # type: ignore[call-arg]
