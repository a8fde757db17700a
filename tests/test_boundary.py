"""Whatever is given to a public name, only the package's own errors come out."""

import inspect
import pickle
import random

import pytest
from argument_fuzz import VALUES, right_calls, wrong_calls

import workbench
from pomdps import recall4
from workbench.core.errors import WrongType

CALLS = right_calls()
EXCUSED = {
    *("from_gymnasium", "storm_value", "load_run", "sweep_lambda", "transition_diagram"),
    *("policy_slice", "phase_plane", "from_prism"),
}
"""Functions that need a package, a program or a long preparation."""


def test_every_public_function_has_a_right_call():
    functions = {name for name in workbench.__all__ if inspect.isfunction(getattr(workbench, name))}
    assert functions - set(CALLS) == EXCUSED & functions
    for name, call in CALLS.items():
        getattr(workbench, name)(**call)


def test_a_few_wrong_arguments_are_refused():
    """Another few every day of the year would not be the same for everybody."""
    for name, call in CALLS.items():
        drawn = random.Random(name).sample(sorted(VALUES), 3)
        assert wrong_calls(name, call, drawn) == []


def test_files_of_wrong_calls_are_not_left_where_the_tests_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert wrong_calls("save_pomdp", CALLS["save_pomdp"], ["'x'"]) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_refused(name):
    assert wrong_calls(name, CALLS[name], list(VALUES)) == []


def test_the_refusal_names_the_function_and_the_argument():
    P = recall4()
    with pytest.raises(WrongType, match=r"^evaluate needs a Policy as pi, not 'uniform'$"):
        workbench.evaluate(P, "uniform")
    with pytest.raises(WrongType, match=r"^learn needs a whole number as steps, not 1.5$"):
        workbench.learn(P, workbench.QLearning(), steps=1.5)
    with pytest.raises(WrongType, match=r"Controller needs a Mapping\[Node, Number\] as start"):
        workbench.Controller(P, ("n",), 3, {}, {})


def test_a_checked_function_is_pickled_and_documented_as_itself():
    assert pickle.loads(pickle.dumps(workbench.evaluate)) is workbench.evaluate
    inner = workbench.evaluate.__wrapped__
    assert inspect.signature(workbench.evaluate) == inspect.signature(inner)
    assert workbench.evaluate.__doc__ == inner.__doc__
