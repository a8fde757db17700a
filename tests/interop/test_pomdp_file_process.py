"""What a file means: the fast tables against the slow ones, and the compiled POMDP against the
process of the file."""

from __future__ import annotations

import itertools

import numpy as np
import reference_files as reference
from hypothesis import given
from hypothesis import strategies as st
from strategies_files import any_line, drafts, files, reward_line

from workbench.interop.pomdp_file import parse_pomdp
from workbench.interop.pomdp_file.grammar import parse_record
from workbench.interop.pomdp_file.source import Source
from workbench.interop.pomdp_file.tables import FileTable, RewardTable

LIMIT = 100_000


@given(st.data())
def test_later_lines_override_earlier_ones_as_if_the_tables_were_filled_line_by_line(data):
    draft = data.draw(drafts())
    for letter in "TO":
        draft.lines += data.draw(st.lists(any_line(draft, letter), min_size=1, max_size=8))
    slow = reference.read(draft.text())
    record = parse_record(Source(draft.text()), True, LIMIT)
    for lines, cube, width in ((record.T, slow.T, len(slow.S)), (record.O, slow.Z, len(slow.O))):
        table = FileTable(record, width, LIMIT)
        for line in lines:
            table.read(line)
        nA = len(slow.A)
        for s, a in itertools.product(range(len(slow.S)), range(nA)):
            row, _ = table.row(s, a)
            assert [row.get(k, 0) for k in range(width)] == cube[a][s]
            assert all(row.values())


@given(st.data())
def test_rewards_looked_up_are_those_of_the_dense_table(data):
    draft = data.draw(drafts())
    draft.lines += [
        "T: * uniform",
        "O: * uniform",
        *data.draw(st.lists(reward_line(draft), max_size=10)),
    ]
    slow = reference.read(draft.text())
    record = parse_record(Source(draft.text()), True, LIMIT)
    R = RewardTable(record)
    shape = (len(slow.A), len(slow.S), len(slow.S), len(slow.O))
    for a, s, t, o in itertools.product(*map(range, shape)):
        assert R(a, s, t, o) == slow.R[a][s][t][o]


@given(files(), st.data())
def test_the_compiled_pomdp_generates_the_observations_and_rewards_of_the_file(text, data):
    slow = reference.read(text)
    first = data.draw(st.sampled_from(["auto", "start"]))
    P = parse_pomdp(text, first=first, exact=True)
    assert P.gamma == slow.gamma
    assert list(P.A) == slow.A
    for actions in itertools.product(range(len(slow.A)), repeat=3 if len(slow.A) < 3 else 2):
        assert reference.pomdp_process(P, actions) == reference.file_process(slow, first, actions)


@given(files(), st.data())
def test_episodes_end_at_the_goals(text, data):
    slow = reference.read(text)
    pairs = [(s, a) for s in slow.S for a in slow.A]
    goals = data.draw(st.lists(st.sampled_from([*slow.S, *pairs]), min_size=1, max_size=3))
    ends, terminal = reference.endings(slow, goals)
    P = parse_pomdp(text, exact=True, goals=goals)
    for actions in itertools.product(range(len(slow.A)), repeat=2):
        assert reference.pomdp_process(P, actions) == reference.file_process(
            slow, "auto", actions, ends, terminal
        )


@given(files())
def test_floats_are_the_exact_numbers_rounded(text):
    exact, floats = parse_pomdp(text, exact=True), parse_pomdp(text)
    assert list(exact.S) == list(floats.S)
    assert list(exact.O) == list(floats.O)
    assert np.array_equal(exact.p.row_ptr, floats.p.row_ptr)
    assert np.array_equal(exact.p.s_next, floats.p.s_next)
    for one, other in (
        (exact.p.prob, floats.p.prob),
        (exact.p.r, floats.p.r),
        (exact.omega.prob, floats.omega.prob),
    ):
        assert not other.is_exact
        np.testing.assert_allclose(one.floats, other.floats, atol=1e-12)


@given(files())
def test_states_are_split_only_where_the_file_makes_it_necessary(text):
    """A state is one state unless two ways to enter it show different things or a reward reads the
    observation."""
    slow = reference.read(text)
    nS, nA, nO = len(slow.S), len(slow.A), len(slow.O)
    P = parse_pomdp(text, exact=True, first="start")
    for t in range(nS):
        ways = [(a, s) for a in range(nA) for s in range(nS) if slow.T[a][s][t]]
        shown = {tuple(slow.Z[a][t]) for a, _ in ways}
        reads = any(
            len({slow.R[a][s][t][o] for o in range(nO) if slow.Z[a][t][o]}) > 1 for a, s in ways
        )
        split = len(shown) > 1 or reads
        copies = [
            label
            for label in P.S
            if isinstance(label, tuple) and label[0] == slow.S[t] and label[1] != "start"
        ]
        seen = {slow.O[o] for a, _ in ways for o in range(nO) if slow.Z[a][t][o]}
        assert {o for _, o in copies} == (seen if split else set())
        assert ((slow.S[t], "start") in P.S) == bool(slow.mu[t])
        assert (slow.S[t] in P.S) == (not split and (bool(ways) or not slow.mu[t]))


def test_the_spoiled_process_is_noticed():
    """The comparison of processes can fail: another reward, another observation probability."""
    text = (
        "discount: 1 values: reward states: 2 actions: 2 observations: 2\nT: * "
        "uniform\nO: * uniform\nR: 0:0:0:1 1\n"
    )
    P = parse_pomdp(text, exact=True)
    for wrong in (text + "R: 0:0:0:1 2\n", text + "O: 0 : 0 1 0\n", text + "T: 0 identity\n"):
        slow = reference.read(wrong)
        assert reference.pomdp_process(P, (0, 0)) != reference.file_process(slow, "auto", (0, 0))
