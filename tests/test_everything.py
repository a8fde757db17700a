"""Every registered task, memory, weight and learner goes through everything that accepts one.

It works, or it is refused by an error of the package that names it. The same holds for one of each
kind that is made up here: what nobody has thought of is refused or computed as it says itself, and
never as its neighbour.
"""

import inspect
import json
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from toy_tasks import doors, small_task

import workbench
from pomdps import TASKS, recall, recall4
from workbench import (
    ExpectedSarsa,
    Policy,
    QLearning,
    Sarsa,
    augment,
    best_memoryless,
    equilibria,
    evaluate,
    improve,
    learn,
    load_pomdp,
    mean_field,
    memories,
    save_pomdp,
    shortcuts,
    soft_equilibria,
    td_values,
    uniform,
)
from workbench.cli.equilibria_command import one_step_learner
from workbench.cli.main import GROUPS, main
from workbench.core import weights as weighting
from workbench.core.errors import NeedsAllActions, WorkbenchError
from workbench.core.families import FAMILIES, BufferFamily, parse_memory, register
from workbench.core.kernels import lean_inline_kernel
from workbench.core.learners import Learner
from workbench.core.memory import About
from workbench.explorer.export import ExplorerEntry, export_entry
from workbench.learning import LEARNERS, learner_by_name
from workbench.learning.learner_kernels import LearnerParts, learner_kernel, look_at_row
from workbench.results.json import model_json
from workbench.sweeps.spec import parse_spec

SPEC = """
[[grid]]
task = "recall4"
memory = "none"
learner = "{}"
seeds = 1
steps = 100
"""

__all__ = ["LearnerParts"]  # a learner's module has the record of its kernel

SMALL = 60
"""States of the largest tasks that go through everything."""

SPECIMENS = {"trace": "trace1/2@2"}
"""Names of memories whose families do not take a size of 1."""


def small_tasks():
    for name, task in TASKS.items():
        if not task.extra:
            P = task.make()
            if len(P.S) <= SMALL:
                yield name, P


TASKS_BY_NAME = dict(small_tasks())


def memory_of(kind):
    """The name of a small memory of a family."""
    for name in (kind, f"{kind}1", f"{kind}2", SPECIMENS.get(kind, kind)):
        try:
            parse_memory(name)
        except WorkbenchError:
            continue
        return name
    raise AssertionError(f"no name of a memory of the family {kind} is known to this test")


def works_or_is_named(names, call):
    """The result, or None if the package refuses by an error that names one of the things."""
    try:
        return call()
    except WorkbenchError as error:
        told = str(error)
    assert any(name in told for name in names), told
    return None


def says(capsys, names, *arguments):
    """What a command prints; an error is one line that names one of the things."""
    try:
        main(list(arguments))
    except SystemExit as stop:
        printed = capsys.readouterr()
        if stop.code:
            assert any(name in printed.err for name in names), printed.err
            return printed.err
        return printed.out
    return capsys.readouterr().out


# ---------------------------------------------------------------------- tasks


def go_through_task(name, P, tmp_path, capsys):
    pi = uniform(P)
    found = works_or_is_named([P.name, name], lambda: evaluate(P, pi))
    works_or_is_named([P.name], lambda: td_values(P, pi))
    works_or_is_named([P.name], lambda: shortcuts(P, pi))
    works_or_is_named([P.name], lambda: improve(P, pi, step=0.1, budget=5))
    learn(P, QLearning(max_episode_steps=20), steps=200, seeds=1)
    works_or_is_named([P.name], lambda: mean_field(P, QLearning(), time=1))
    save_pomdp(P, tmp_path / "task.POMDP")
    again = load_pomdp(tmp_path / "task.POMDP")
    if found is not None:
        assert float(evaluate(again, uniform(again)).value) == pytest.approx(float(found.value))
    page = export_entry(ExplorerEntry(name, P, name, ""))
    json.dumps(page)
    for command in (
        ("show", name),
        ("improve", name, "--budget", "5"),
        ("shortcuts", name, "--most", "10"),
    ):
        assert says(capsys, [P.name], *command)
    assert P.name in says(capsys, [P.name], "learn", name, "--steps", "100", "--seeds", "1")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("recall4", "tiger") else pytest.mark.slow)
        for name in TASKS_BY_NAME
    ],
)
def test_every_small_task_goes_through_everything(name, tmp_path, capsys):
    go_through_task(name, TASKS_BY_NAME[name], tmp_path, capsys)


def test_a_task_that_is_made_up_does_so_as_well(tmp_path, capsys, monkeypatch):
    def coin():
        half = Fraction(1, 2)
        return small_task(
            "coin",
            lambda s, a: {("end", 3 if s == a else 0): 1},
            {"heads": half, "tails": half},
            A=["heads", "tails"],
        )

    record = type(TASKS["recall4"])(make=coin, title="A coin", text="Guess.", source="here")
    monkeypatch.setitem(TASKS, "coin", record)
    go_through_task("coin", coin(), tmp_path, capsys)
    assert "coin" in says(capsys, [], "list", "tasks")


# ---------------------------------------------------------------------- memories


def go_through_memory(name, capsys):
    P = recall4()
    E = augment(P, name)
    assert E.name == ("recall4" if name == "none" else f"recall4×{parse_memory(name).name}")
    pi = uniform(E)
    value = evaluate(E, pi).value
    assert float(value) == pytest.approx(float(evaluate(P, uniform(P)).value))
    td_values(E, pi)
    improve(E, pi, step=0.1, budget=5)
    learn(E, QLearning(), steps=200, seeds=1)
    works_or_is_named([E.name], lambda: mean_field(E, QLearning(), time=1))
    works_or_is_named([E.name], lambda: equilibria(E, QLearning(epsilon=Fraction(1, 10)), most=20))
    gymnasium = pytest.importorskip("gymnasium")
    from workbench import MemoryWrapper, to_gymnasium

    assert gymnasium
    env = works_or_is_named([name], lambda: MemoryWrapper(to_gymnasium(P), name))
    if env is not None:
        env.reset(seed=0)
        env.step(env.action_space.sample())
    for command in (("improve", "--budget", "5"), ("learn", "--steps", "100", "--seeds", "1")):
        assert name in says(capsys, [name], command[0], "recall4", "-m", name, *command[1:])
    assert says(
        capsys, [name], "equilibria", "recall4", "-m", name, "--most", "20", "--nodes", "20"
    )


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_goes_through_everything(kind, capsys):
    go_through_memory(memory_of(kind), capsys)


class Pile(BufferFamily):
    """A buffer whose newest cell can be dropped."""

    kind = "pile"
    writes = ("keep", "drop", "push")
    about = About("pile(k)", "", "(O + empty)^k", "keep, drop, push", "drop forgets the newest")

    def rearrange(self, m, w, entry):
        return (None, *m[:-1]) if w == "drop" else super().rearrange(m, w, entry)


def test_a_family_that_is_made_up_does_so_as_well_and_is_no_other(capsys):
    register(Pile)
    try:
        go_through_memory("pile1", capsys)
        E = augment(recall4(), "pile1")
        assert len(E.A) == 3 * len(recall4().A)
        filled = next(m for m, o in E.O if m != (None,))
        m = memories.attach("pile1", recall4())
        assert m.Gamma(filled, "drop", "o", 0, 0, "o") == {(None,): 1}
        assert m.Gamma(filled, "push", "o", 0, 0, "o") == {("o",): 1}
        assert "pile" in says(capsys, [], "list", "memories")
    finally:
        del FAMILIES["pile"]


# ---------------------------------------------------------------------- weights


@pytest.mark.parametrize("weights", list(weighting.WEIGHTS))
@pytest.mark.parametrize("task", ["recall4", "recall", "tiger"])
def test_every_weight_goes_through_everything(weights, task, capsys):
    P = TASKS_BY_NAME[task]
    pi = uniform(P)
    named = [weights, P.name, "o="]  # the task, the weight or the observation at fault
    works_or_is_named(named, lambda: evaluate(P, pi, weights=weights))
    works_or_is_named(named, lambda: td_values(P, pi, weights=weights))
    works_or_is_named(named, lambda: shortcuts(P, pi, weights=weights))
    works_or_is_named(named, lambda: improve(P, pi, step=0.1, weights=weights, budget=5))
    assert says(capsys, named, "improve", task, "--weights", weights, "--budget", "5")
    assert says(capsys, named, "shortcuts", task, "--weights", weights)


# ---------------------------------------------------------------------- learners


def go_through_learner(name, capsys):
    P = recall4()
    learner = one_step_learner(name)
    run = learn(P, learner, steps=300, seeds=2)
    assert run.policy(0).fits(P) is None
    assert np.isfinite(run.final_values()).all()
    shown = says(capsys, [], "learn", "recall4", "-l", name, "--steps", "100", "--seeds", "2")
    assert learner_by_name(name).described in " ".join(shown.split())
    sweep = parse_spec(SPEC.format(name), lambda task: None)
    assert [cell.method for cell in sweep.cells] == [learner_by_name(name)]
    found = works_or_is_named([learner.kind], lambda: equilibria(P, learner))
    flow = works_or_is_named([learner.kind], lambda: mean_field(P, learner, time=1))
    assert (found is None) == (flow is None)
    works_or_is_named([learner.kind, "one-step"], lambda: soft_equilibria(P, learner, 1))
    shown = says(capsys, [name, learner.kind], "equilibria", "recall4", "--learner", name)
    assert learner.described in shown or name in shown or learner.kind in shown


@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_learner_goes_through_everything(name, capsys):
    go_through_learner(name, capsys)


def test_expected_sarsa_has_the_fixed_points_of_sarsa_and_not_those_of_q_learning():
    P, tenth = augment(recall(), "OA1"), Fraction(1, 10)

    def values(learner):
        found = equilibria(P, learner, exact=True)
        return [(e.policy.actions.tolist(), e.q.array.tolist()) for e in found]

    expected = values(ExpectedSarsa(epsilon=tenth))
    assert expected == values(Sarsa(lam=0, epsilon=tenth))
    assert expected != values(QLearning(epsilon=tenth))


@lean_inline_kernel
def learn_nothing(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """What `learn` returns for the row of o', without an update before."""
    return look_at_row(L, m, o if ended else o_next, nA, g0, g1)


idle = learner_kernel("idle", learn=learn_nothing)


@pytest.fixture
def made_up():
    """Q-learning's settings with a kernel of its own that learns nothing, and no target."""

    @dataclass(frozen=True)
    class Idle(QLearning, name="idle", title="Idling"):
        module = __name__
        kernel_name = "idle"

    yield Idle
    del LEARNERS["idle"]


def test_a_learner_that_is_made_up_does_so_as_well_and_is_no_other(made_up, capsys):
    go_through_learner("idle", capsys)
    P = recall4()
    run = learn(P, made_up(), steps=300, seeds=1)
    assert (run.tables["q"] == 1).all()
    assert not (learn(P, QLearning(), steps=300, seeds=1).tables["q"] == 1).all()
    for function in (equilibria, mean_field, lambda P, L: soft_equilibria(P, L, 1)):
        with pytest.raises(WorkbenchError, match=r"not of .*Idle"):
            function(P, made_up(epsilon=Fraction(1, 10)))
    shown = says(capsys, [], "learn", "recall4", "-l", "idle", "--steps", "100", "--seeds", "1")
    assert "Idling on recall4" in shown
    assert "idle" in says(capsys, [], "list", "learners")


def test_a_learner_without_a_kernel_is_refused_by_name():
    @dataclass(frozen=True)
    class Bare(Learner):
        max_episode_steps: int | None = None

    with pytest.raises(WorkbenchError, match="Bare"):
        learn(recall4(), Bare(), steps=10, seeds=1)


# ---------------------------------------------------------------------- actions that depend on o

TENTH = Fraction(1, 10)


def sampled(P, pi):
    return workbench.simulate(P, pi, seed=3, episodes=4)


def with_bit(P, pi):
    E = augment(P, "B1")
    rows = {(m, o): {(a, w): x / 2 for a, x in pi.row(o).items() for w in "01"} for m, o in E.O}
    return E, Policy.from_mapping(E, rows)


def diagram(P, pi):
    found = workbench.transition_diagram(*with_bit(P, pi))
    return [edge for edge in found.edges if edge.kind == "policy"]


def there_and_back(write, read):
    def through(P, pi):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "task"
            write(P, path)
            Q = read(path)
        return len(Q.S), best_memoryless(Q, exact=True).value

    return through


def stepped(P, pi):
    env = workbench.to_gymnasium(P)
    env.reset(seed=0)
    return env.step(P.A.index("left"))[:3]


ANSWERS = {
    "augment": lambda P, pi: evaluate(*with_bit(P, pi), exact=True).value,
    "controller_of": lambda P, pi: workbench.controller_of(P, "none", free(P, pi)).value,
    "evaluate": lambda P, pi: (
        evaluate(P, pi, exact=True).value,
        evaluate(P, pi, exact=True, criterion="average").value,
    ),
    "simulate": sampled,
    "td_values": lambda P, pi: td_values(P, pi, exact=True).v.array.tolist(),
    "lambda_discrepancy": lambda P, pi: workbench.lambda_discrepancy(P, pi, exact=True),
    "discrepancy_loss": lambda P, pi: workbench.discrepancy_loss(P, pi, exact=True),
    "gradient": lambda P, pi: float(workbench.gradient(P, pi, exact=True)["hall", "left"]),
    "sweep_lambda": lambda P, pi: workbench.sweep_lambda(P, pi).q[:, 1, 3].tolist(),
    "transition_diagram": diagram,
    "shortcuts": shortcuts,
    "switch_values": lambda P, pi: workbench.switch_values(P, pi, exact=True)["door", "open"],
    "improve": lambda P, pi: improve(P, pi, exact=True, step=TENTH).limit_value,
    "best_history": lambda P, pi: workbench.best_history(P, exact=True).value,
    "best_memoryless": lambda P, pi: best_memoryless(P, exact=True).value,
    "reachable_beliefs": lambda P, pi: len(workbench.reachable_beliefs(P)),
    "is_sufficiently_expressive": lambda P, pi: workbench.is_sufficiently_expressive(P, "B1").holds,
    "can_encode_optimal": lambda P, pi: workbench.can_encode_optimal(P, "B1").holds,
    "frontier": lambda P, pi: [
        point.value for point in workbench.frontier(P, up_to=1, families=["B"]).points
    ],
    "needs_memory": lambda P, pi: workbench.needs_memory(P, families=["B"], up_to=1).without.holds,
    "learn": lambda P, pi: [
        learn(P, learner, steps=4000, seeds=2).final_values().max()
        for learner in (QLearning(epsilon=0.3), Sarsa(epsilon=0.3), workbench.ActorCritic())
    ],
    "repeat_episodes": lambda P, pi: len(workbench.repeat_episodes(P).S),
    "with_goal": lambda P, pi: best_memoryless(workbench.with_goal(P, "left"), exact=True).value,
    "with_step_limit": lambda P, pi: workbench.best_history(workbench.with_step_limit(P, 3)).value,
    "save_pomdp": there_and_back(
        lambda P, path: save_pomdp(P, path.with_suffix(".POMDP")),
        lambda path: load_pomdp(path.with_suffix(".POMDP")),
    ),
    "export_drn": there_and_back(
        lambda P, path: path.write_text(workbench.export_drn(P)), workbench.load_drn
    ),
    "to_gymnasium": stepped,
}
"""What each function says, as a number that is the same for the same task written with the classic
trick, where an action that is missing does what the first one does."""

REFUSALS = {
    "policy_slice": lambda P, pi: workbench.policy_slice(P),
    "critical_points": lambda P, pi: workbench.critical_points(P),
    "diagnose": lambda P, pi: workbench.diagnose(P),
    "equilibria": lambda P, pi: equilibria(P, QLearning(epsilon=TENTH)),
    "soft_equilibria": lambda P, pi: soft_equilibria(P, workbench.SoftQLearning(), 1),
    "subdivide": lambda P, pi: workbench.subdivide(P, QLearning(epsilon=TENTH)),
    "mean_field": lambda P, pi: mean_field(P, QLearning(), time=1),
    "phase_plane": lambda P, pi: workbench.phase_plane(P, QLearning()),
    "observation_mdp": lambda P, pi: workbench.observation_mdp(P, pi),
    "to_arrays": lambda P, pi: workbench.to_arrays(P),
    "learn with PPO": lambda P, pi: learn(P, workbench.PPO(), steps=10, seeds=1),
    "learn with DDQN": lambda P, pi: learn(P, workbench.DDQN(), steps=10, seeds=1),
    "MemoryPair": lambda P, pi: workbench.MemoryPair(P, "B1"),
    "a certificate": lambda P, pi: model_json(P),
    "the explorer": lambda P, pi: export_entry(ExplorerEntry("doors", P, "doors", "")),
}

ELSEWHERE = {
    "uniform": "tests/core/test_allowed.py: it is another policy there",
    "to_umb": "tests/interop/test_umb.py",
    "storm_value": "tests/interop/test_storm.py",
    "load_controller": "tests/interop/test_controller_file.py",
    "load_run": "it loads a run of networks, which refuse such tasks",
}


def free(P, pi):
    E = augment(P, "none")
    rows = {("-", o): {(a, "-"): x for a, x in pi.row(o).items()} for o in P.O}
    return Policy.from_mapping(E, rows)


def test_every_function_that_takes_a_task_answers_or_refuses_actions_that_depend_on_o():
    """A new function belongs into one of the three lists."""
    taking = set()
    for name in workbench.__all__:
        function = getattr(workbench, name)
        if inspect.isfunction(function):
            first = [str(p.annotation) for p in inspect.signature(function).parameters.values()]
            if name == "learn" or any("POMDP" in one for one in first):
                taking.add(name)
    assert taking == (set(ANSWERS) | set(REFUSALS) | set(ELSEWHERE)) - {
        "learn with PPO", "learn with DDQN", "MemoryPair", "a certificate", "the explorer",
    }  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_that_of_the_classic_trick(name):
    if name == "to_gymnasium":
        pytest.importorskip("gymnasium")
    P = doors()
    every, pi = P.with_all_actions(), uniform(P)
    assert ANSWERS[name](P, pi) == ANSWERS[name](every, Policy(every, pi.prob))


@pytest.mark.parametrize("name", REFUSALS)
def test_what_needs_all_actions_says_so_in_one_way(name):
    P = doors()
    told = f"^{name} needs all actions in every observation; doors does not allow back at hall"
    with pytest.raises(NeedsAllActions, match=told):
        REFUSALS[name](P, uniform(P))


COMMANDS = {
    "show": ("back, open at door",),
    "improve": ("9/5", "--budget", "500"),
    "learn": ("1.8", "--steps", "2000", "--seeds", "1"),
    "best": ("9/5", "--history"),
    "compare": ("9/5",),
    "census": ("1.8",),
    "controller": ("9/5",),
    "frontier": ("9/5", "--up-to", "1"),
    "needs-memory": ("none is needed", "--up-to", "1"),
    "shortcuts": ("count_shortcuts needs all actions",),
    "critical-points": ("critical_points needs all actions",),
    "diagnose": ("diagnose needs all actions",),
    "equilibria": ("equilibria needs all actions",),
}

WITHOUT_TASK = {
    "list", "search", "gallery", "sweep", "results", "reproduce", "verify", "explore", "site",
    "exercises", "self-test",
}  # fmt: skip


def test_every_command_is_asked_about_actions_that_depend_on_o():
    assert set(COMMANDS) | WITHOUT_TASK == {name for names in GROUPS.values() for name in names}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_answers_or_refuses_such_a_task(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # census keeps its rows in the folder it is called in
    save_pomdp(doors(), tmp_path / "doors.POMDP")
    expected, *options = COMMANDS[command]
    shown = says(capsys, ["doors"], command, str(tmp_path / "doors.POMDP"), *options)
    assert expected in " ".join(shown.split())
