"""The key of a cell: everything that its numbers depend on, and nothing else."""

import shutil
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from pomdps import gravity, recall
from workbench.core.errors import UnknownLabel
from workbench.core.learners import OptionError, QLearning, Sarsa
from workbench.learning.actor_critic import ActorCritic
from workbench.reproduction.paper_figures import FIGURES, figures_by_name, quick
from workbench.sweeps import cell as cell_module
from workbench.sweeps.cell import (
    Cell,
    batches,
    cells_of,
    code_version,
    fingerprint,
    key_of,
    source_digest,
)
from workbench.sweeps.experiment import GREEDY, PER_100, Length

SOURCE = Path(workbench.__file__).parent
CELL = Cell("recall", "OA1", QLearning(), PER_100, (0, 1), 1000, 100)


def key(cell, P=None):
    return key_of(cell.content(fingerprint(P or recall())))


@pytest.mark.parametrize(
    "changed",
    [
        replace(CELL, memory="O1"),
        replace(CELL, method=QLearning(epsilon=0.02)),
        replace(CELL, method=QLearning(initial=0.0)),
        replace(CELL, method=Sarsa()),
        replace(CELL, measure=GREEDY),
        replace(CELL, seeds=(0, 2)),
        replace(CELL, seeds=(0,)),
        replace(CELL, steps=2000),
        replace(CELL, every=200),
    ],
    ids=lambda cell: repr(cell)[:80],
)
def test_every_setting_is_part_of_the_key(changed):
    assert key(changed) != key(CELL)
    assert key(replace(CELL)) == key(CELL)


def test_the_tables_of_the_task_are_part_of_the_key_and_its_name_is_not_enough():
    assert key(CELL, recall(gamma=Fraction(1, 2))) != key(CELL)
    assert key(CELL, recall()) == key(CELL)
    assert fingerprint(gravity()) != fingerprint(gravity(press="arrive"))
    assert fingerprint(gravity()) != fingerprint(gravity(p_down=Fraction(8, 10)))


@given(
    st.tuples(
        st.sampled_from(["OA1", "B1"]),
        st.builds(ActorCritic, n=st.integers(1, 3), v=st.sampled_from([0.0, 1.0])),
        st.sampled_from([(0,), (0, 1)]),
        st.integers(1, 2),
    ),
    st.tuples(
        st.sampled_from(["OA1", "B1"]),
        st.builds(ActorCritic, n=st.integers(1, 3), v=st.sampled_from([0.0, 1.0])),
        st.sampled_from([(0,), (0, 1)]),
        st.integers(1, 2),
    ),
)
def test_two_cells_share_a_key_exactly_when_they_are_equal(one, other):
    P = recall()
    a, b = (
        Cell("recall", memory, method, PER_100, seeds, steps, 1)
        for memory, method, seeds, steps in (one, other)
    )
    assert (key(a, P) == key(b, P)) == (a == b)


# ---------------------------------------------------------------------- code versions


def test_changed_code_changes_the_version_and_a_changed_figure_does_not(tmp_path, monkeypatch):
    copy = tmp_path / "workbench"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cell_module, "_SOURCE", copy)

    def version() -> str:
        source_digest.cache_clear()
        return code_version(QLearning())

    before = version()
    for module, changes in (
        ("learning/learner_kernels.py", True),
        ("core/evaluate.py", True),
        ("sweeps/compute.py", True),
        ("figures/curves.py", False),
        ("sweeps/store.py", False),
    ):
        text = (copy / module).read_text()
        (copy / module).write_text(text + "\nADDED = 1\n")
        assert (version() != before) == changes, module
        (copy / module).write_text(text)
    assert version() == before
    source_digest.cache_clear()


def test_a_learner_of_one_s_own_is_part_of_the_version(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = {code_version(QLearning())}
    for name in ("one", "other"):
        (tmp_path / f"own_{name}.py").write_text(
            "from workbench.core.learners import QLearning\n"
            f"class Own(QLearning):\n    name = {name!r}\n"
        )
        found.add(code_version(import_module(f"own_{name}").Own()))
    assert len(found) == 3


# ---------------------------------------------------------------------- the records


def test_the_figures_are_those_of_the_paper():
    assert list(FIGURES) == ["fig2", "fig3", "fig4", "fig5", "fig7", "fig11"]
    assert all(figure.length is None or figure.length.seeds == 30 for figure in FIGURES.values())
    memories = {id: {memory for _, memory in figure.pairs} for id, figure in FIGURES.items()}
    assert memories["fig2"] == memories["fig11"] == {"none", "K1", "B1", "O1", "OA1"}
    assert memories["fig3"] == {"OA1", "B2"}
    assert memories["fig4"] == {"none", "K1", "B1", "O1", "OA1", "K2", "B2", "O2", "OA2"}
    assert memories["fig5"] == {"OA1", "OA2", "B1", "B2", "B5"}
    assert memories["fig7"] == {"OA1", "B5"}
    settings = {(method.n, method.update, method.v) for method, _ in FIGURES["fig4"].pairs}
    assert settings == set(product((5, 20), ("window", "batch"), (0.0, 1.0)))


def test_figures_share_their_common_cells():
    shared = set(cells_of(FIGURES["fig2"])) & set(cells_of(FIGURES["fig4"]))
    assert (
        len({(cell.method, cell.memory) for cell in shared}) == 20
    )  # 5-step, four readings, five memories of size 1


@given(st.integers(1, 40), st.integers(1, 40))
def test_batches_hold_every_seed_once_and_longer_runs_reuse_whole_batches(n, more):
    assert [seed for batch in batches(n) for seed in batch] == list(range(n))
    whole = [batch for batch in batches(n) if len(batch) == 5]
    assert batches(n + more)[: len(whole)] == whole


def test_names_of_figures_are_read_generously_and_unknown_ones_refused():
    assert [f.id for f in figures_by_name(["Fig. 4", "2", "FIG11"])] == ["fig2", "fig4", "fig11"]
    assert len(figures_by_name([])) == 6
    with pytest.raises(UnknownLabel, match="the tabular figures are fig2, fig3"):
        figures_by_name(["fig6"])


def test_quick_versions_are_shorter_and_lengths_are_checked():
    assert quick(FIGURES["fig5"]) is FIGURES["fig5"]
    assert quick(FIGURES["fig3"]).length == Length(5, 400_000, 10_000)
    with pytest.raises(OptionError, match="seeds of an experiment must be at least 1, not 0"):
        FIGURES["fig2"].with_length(0, 10, 10)
    with pytest.raises(OptionError, match="a block of 20 does not fit into 10 steps"):
        FIGURES["fig2"].with_length(1, 10, 20)
