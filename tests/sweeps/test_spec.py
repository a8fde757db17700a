"""Sweeps as TOML: what is combined, and what is said about a file that is wrong."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.cli.task_name import find_task
from workbench.core.learners import QLearning, Sarsa
from workbench.learning.actor_critic import ActorCritic
from workbench.sweeps.cell import batches
from workbench.sweeps.experiment import FINAL, GREEDY, PER_100, OracleLoop
from workbench.sweeps.run_cells import Budget
from workbench.sweeps.spec import EXAMPLE, SpecError, parse_spec, read_spec

GRID = '[grid]\ntask = "recall"\nmemory = "B1"\nlearner = "sarsa"\nseeds = 3\nsteps = 1000\n'
LOOP = '[grid]\ntask = "recall4"\nmemory = "B1"\nlearner = "oracle"\n'


def sweep(text):
    return parse_spec(text, find_task)


def test_the_example_is_a_sweep():
    found = sweep(EXAMPLE)
    assert len(found.cells) == 2 * 5 * 3 * 2 + 6 * 2
    assert found.budget == Budget(seconds=3600)
    assert {type(cell.method) for cell in found.cells} == {Sarsa, OracleLoop}


def test_one_cell_has_what_the_file_says_and_defaults_for_the_rest():
    (cell,) = sweep(GRID).cells
    assert (cell.task, cell.memory, cell.method, cell.measure) == ("recall", "B1", Sarsa(), PER_100)
    assert (cell.seeds, cell.steps, cell.every) == ((0, 1, 2), 1000, 10)
    (loop,) = sweep(LOOP + 'step = 1\nties = "first"').cells
    assert (loop.method, loop.seeds, loop.work) == (OracleLoop(step=1.0, ties="first"), (), 0)


def test_lists_are_axes_named_lists_are_put_in_and_grids_added():
    text = """
    lists.some = ["B1", "OA1"]
    [[grid]]
    task = ["recall", "gravity"]
    memory = ["none", "lists.some"]
    learner = ["qlearning", "monte-carlo"]
    epsilon = [0.1, 0.2]
    seeds = [7, 3, 2, 11, 5, 4]
    steps = [1000, 500]
    measure = ["final", "values"]
    [[grid]]
    task = "recall"
    memory = "None"
    learner = "actor-critic"
    n = 3
    v = 1
    seeds = 1
    steps = 10
    """
    cells = sweep(text).cells
    assert len(cells) == 2 * 3 * 4 * 2 * 2 * 2 + 1
    assert {cell.seeds for cell in cells} == {(7, 3, 2, 11, 5), (4,), (0,)}
    assert {cell.measure for cell in cells} == {FINAL, GREEDY, PER_100}
    assert cells[-1].memory == "none"
    assert cells[-1].method == ActorCritic(n=3, v=1.0)


@given(
    st.integers(1, 40),
    st.lists(st.sampled_from(["none", "B1", "B2", "O1"]), min_size=1, unique=True),
)
def test_the_number_of_cells_is_the_product_of_the_axes(seeds, memories):
    text = (
        GRID.replace('"B1"', str(memories)).replace("seeds = 3", f"seeds = {seeds}")
        + "lam = [0, 0.5]"
    )
    assert len(sweep(text).cells) == 2 * len(memories) * len(batches(seeds))


def test_whole_numbers_and_floats_give_the_same_cell_and_twice_the_same_cell_is_one():
    again = GRID.replace("[grid]", "[[grid]]")
    cells = sweep(again + "lam = 1\n" + again + "lam = 1.0\n").cells
    assert len(cells) == 1
    assert cells[0].settings()["method"]["lam"].hex() == (1.0).hex()
    assert sweep(GRID.replace("sarsa", "qlearning")).cells[0].method == QLearning()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grid", "this is not TOML: "),
        (
            "gird = 1",
            r"gird = 1: unknown key \(did you mean grid\?\); known are grid, lists, budget",
        ),
        ("", r"there is no \[grid\]"),
        ("grid = 3", "grid = 3: a grid is a table of keys"),
        ("[grid]", "grid.task is missing"),
        (GRID.replace("seeds = 3", ""), "grid.seeds is missing"),
        (GRID.replace("steps = 1000", ""), "grid.steps is missing"),
        (GRID.replace('"recall"', "1"), "grid.task = 1: a task is named by a text"),
        (
            GRID.replace("recall", "recal"),
            r'grid.task = "recal": unknown task .*did you mean recall\?',
        ),
        (GRID.replace("B1", "BB1"), r'grid.memory = "BB1": unknown memory .*did you mean B1\?'),
        (GRID.replace('"B1"', "[[1]]"), r"grid.memory = \[1\]: a memory's name is a string"),
        (
            GRID.replace("sarsa", "sarsaa"),
            r'grid.learner = "sarsaa": choose one of .*did you mean sarsa\?',
        ),
        (
            GRID.replace('"sarsa"', '["sarsa", "qlearning"]') + "lam = 0",
            ("grid.lam = 0: qlearning has no such setting"),
        ),
        (
            GRID.replace('"sarsa"', '["sarsa", "oracle"]'),
            ("grid.learner = .*the oracle loop has no seeds and no steps"),
        ),
        (
            GRID.replace('"sarsa"', '"oracle"'),
            ("grid.seeds = 3: unknown key; known are task, memory, learner, step, ties"),
        ),
        (GRID + "lamb = 0", r"grid.lamb = 0: unknown key \(did you mean lam\?\); known are task"),
        (GRID + "lam = 2", r"grid.lam = 2: lam of Sarsa must lie in \[0, 1\]"),
        (GRID + "lam = [0, 0.5, 2]", r"grid.lam = 2: lam of Sarsa must lie in \[0, 1\]"),
        (GRID + "lam = true", "grid.lam = true: lam of Sarsa is a number, not True"),
        (GRID + "lam = []", r"grid.lam = \[\]: the list is empty"),
        (GRID + "lam = [0, 0.0]", "grid.lam = .*: 0.0 is there twice"),
        (
            GRID + "max_episode_steps = 0",
            ("grid.max_episode_steps = 0: .* must be at least 1, not 0"),
        ),
        (
            GRID + "every = 2000",
            ("grid.every = 2000: a block of 2,000 does not fit into 1,000 steps"),
        ),
        (GRID + "every = [1]", r"grid.every = \[1\]: every must be an integer"),
        (
            GRID + 'measure = "reward"',
            r'grid.measure = "reward": choose one of rewards, final, values \(did you mean',
        ),
        (GRID.replace("seeds = 3", "seeds = 0"), "grid.seeds = 0: seeds must be at least 1, not 0"),
        (
            GRID.replace("seeds = 3", "seeds = 2.5"),
            ("grid.seeds = 2.5: seeds must be an integer, not 2.5"),
        ),
        (
            GRID.replace("seeds = 3", "seeds = [1, -1]"),
            ("grid.seeds = -1: a seed must be at least 0, not -1"),
        ),
        (GRID.replace("seeds = 3", "seeds = [1, 1]"), r"grid.seeds = \[1, 1\]: 1 is there twice"),
        (
            GRID.replace("seeds = 3", f"seeds = [{2**64}]"),
            ("grid.seeds = .*: a seed must be at most"),
        ),
        (
            GRID.replace("seeds = 3", "seeds = 10_000_000_000"),
            ("grid.seeds = 10000000000: seeds must be at most 1,000,000"),
        ),
        (
            GRID.replace('"B1"', '"lists.smal"') + "[lists]\nsmall = ['B1']",
            r"there is no such list \(did you mean lists.small",
        ),
        (
            GRID + "[lists]\nsmall = 'B1'",
            ("lists.small = .*: it must be a list with something in it"),
        ),
        (GRID + "[budget]\ncells = 0", "budget.cells = 0: it must be a number above 0"),
        (GRID + "[budget]\nhours = 2", "budget.hours = 2: unknown key; known are cells, seconds"),
        (LOOP + 'ties = "lst"', r'grid.ties = "lst": choose one of .*did you mean last'),
        (LOOP + "step = 0", r"grid.step = 0: it must lie in \(0, 1\]"),
        (LOOP + "budget = 0", "grid.budget = 0: budget must be at least 1"),
        (GRID.replace("[grid]", "[[grid]]") * 2 + "lam = 7", "grid 2.lam = 7: lam of Sarsa"),
    ],
)
def test_what_is_wrong_is_told_with_its_key_and_value(text, message):
    with pytest.raises(SpecError, match=message):
        sweep(text)


def test_a_grid_that_is_too_large_is_refused_at_once():
    values = list(range(1, 101))
    axes = "".join(
        f"{key} = {[value / 1000 for value in values]}\n"
        for key in ("lam", "epsilon", "step", "gamma")
    )
    with pytest.raises(SpecError, match="the grid has 100,000,000 cells, more than 1,000,000"):
        sweep(GRID + axes)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(SpecError, match=r"cannot read .*nowhere.toml: No such file"):
        read_spec(tmp_path / "nowhere.toml", find_task)
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match=r"cannot read .*spec.toml"):
        read_spec(path, find_task)
    path.write_text(GRID + "lam = 2")
    with pytest.raises(SpecError, match=r"spec.toml: grid.lam = 2"):
        read_spec(path, find_task)


HOSTILE = {
    "open lists": "x = " + "[" * 50_000,
    "closed lists": GRID + "lam = " + "[" * 3_000 + "]" * 3_000,
    "inline tables": "a = " + "{b=" * 50_000,
    "a header of many parts": "[" + ".".join("a" * 50_000) + "]",
    "a key of many parts": ".".join("a" * 50_000) + " = 1",
    "a key of many parts in a table": "x = {" + ".".join("a" * 50_000) + " = 1}",
    "a header of quoted parts": "[" + ".".join(['"a,b"'] * 5_000) + "]",
    "a key with a brace and a comma": ".".join(["'{,'"] * 5_000) + " = 1",
    "a key behind U+2028": "x = 1 # \u2028\n\u2028 = 1\n" + " . ".join("a" * 5_000) + " = 1",
    "a key of many parts behind an equals sign": 'x = {"=" = 1, ' + ".".join("a" * 5_000) + " = 1}",
    "lists behind a quoted bracket": 'x = ["]", ' + "[" * 5_000 + "]" * 5_001,
    "a NUL in a task": GRID.replace('"recall"', '"re\\u0000call.POMDP"'),
    "a number of many digits": GRID.replace("seeds = 3", "seeds = " + "9" * 50_000),
    "a hexadecimal number of many digits": GRID.replace("seeds = 3", "seeds = 0x" + "f" * 50_000),
    "a number beyond 128 bits": GRID.replace("steps = 1000", f"steps = {2**129}"),
    "more steps than can be counted": GRID.replace("steps = 1000", f"steps = {2**63}"),
    "more blocks than fit": GRID.replace("steps = 1000", f"steps = {2**61}") + "every = 1",
    "a memory of many digits": GRID.replace("B1", "B" + "9" * 50_000),
    "a text that is too long": GRID + "# " + "a" * 2_000_000,
    "a nested setting": GRID + "lam = [[[[1]]]]",
    "an infinite number": GRID.replace("steps = 1000", "steps = inf"),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_files_that_nobody_means_are_refused_in_a_few_words(text):
    with pytest.raises(SpecError) as caught:
        sweep(text)
    assert len(str(caught.value)) < 600


def test_a_list_of_many_seeds_is_read_at_once():
    """It takes time quadratic in their number if each is compared with all before it."""
    seeds = ", ".join(map(str, range(50_000)))
    assert len(sweep(GRID.replace("seeds = 3", f"seeds = [{seeds}]")).cells) == 10_000


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device here")
def test_a_file_that_never_ends_is_refused():
    with pytest.raises(SpecError, match=r"more than 1,000,000 characters"):
        read_spec(Path("/dev/zero"), find_task)
