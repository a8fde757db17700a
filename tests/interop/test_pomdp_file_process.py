"""What a file means: the fast tables against the slow ones, and the compiled POMDP against the
process of the file."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import reference_files as reference
from hypothesis import given
from hypothesis import strategies as st
from strategies_files import any_line, drafts, files, reward_line

from workbench.interop.pomdp_file import PomdpFileError, parse_pomdp
from workbench.interop.pomdp_file.grammar import parse_record
from workbench.interop.pomdp_file.source import Source
from workbench.interop.pomdp_file.tables import RewardTable, resolve

LIMIT = 100_000


def _dense(rows, width):
    table = np.full((len(rows.counts), width), Fraction(0), dtype=object)
    table[rows.row, rows.column] = rows.value
    return table


@given(st.data())
def test_later_lines_override_earlier_ones_as_if_the_tables_were_filled_line_by_line(data):
    draft = data.draw(drafts())
    for letter in "TO":
        draft.lines += data.draw(st.lists(any_line(draft, letter), min_size=1, max_size=8))
    slow = reference.read(draft.text())
    record = parse_record(Source(draft.text()), True, {}, LIMIT)
    mu = np.array(slow.mu, dtype=object)
    nS, nA = len(slow.S), len(slow.A)
    for table, cube in ((record.T, slow.T), (record.O, slow.Z)):
        rows, _, resets = resolve(table, mu, True, LIMIT)
        dense = _dense(rows, len(table.columns))
        for s, a in itertools.product(range(nS), range(nA)):
            assert dense[s * nA + a].tolist() == cube[a][s]
            if table is record.T:
                assert resets[s * nA + a] == ((s, a) in slow.resets)


@given(st.data())
def test_rewards_looked_up_are_those_of_the_dense_table(data):
    draft = data.draw(drafts())
    draft.lines += [
        "T: * uniform",
        "O: * uniform",
        *data.draw(st.lists(reward_line(draft), max_size=10)),
    ]
    slow = reference.read(draft.text())
    record = parse_record(Source(draft.text()), True, {}, LIMIT)
    R = RewardTable(record)
    shape = (len(slow.A), len(slow.S), len(slow.S), len(slow.O))
    places = [
        np.array(column) for column in zip(*itertools.product(*map(range, shape)), strict=True)
    ]
    assert R(*places).tolist() == [slow.R[a][s][t][o] for a, s, t, o in zip(*places, strict=True)]


@given(files(), st.data())
def test_the_compiled_pomdp_generates_the_observations_and_rewards_of_the_file(text, data):
    slow = reference.read(text)
    first = data.draw(st.sampled_from(["auto", "start", "uniform", f"after {slow.A[-1]}"]))
    P = parse_pomdp(text, first=first, exact=True)
    assert P.gamma == slow.gamma
    assert list(P.A) == slow.A
    for actions in itertools.product(range(len(slow.A)), repeat=3 if len(slow.A) < 3 else 2):
        assert reference.pomdp_process(P, actions) == reference.file_process(slow, first, actions)


@given(files(), st.data())
def test_the_episodic_reading_ends_where_the_rules_say(text, data):
    slow = reference.read(text)
    pairs = [(s, a) for s in slow.S for a in slow.A]
    goals = data.draw(
        st.none() | st.lists(st.sampled_from([*slow.S, *pairs]), min_size=1, max_size=3)
    )
    ends, terminal = reference.endings(slow, goals)
    if not ends:
        with pytest.raises(PomdpFileError, match="no state of this file ends an episode"):
            parse_pomdp(text, exact=True, episodic=True)
        return
    P = parse_pomdp(text, exact=True, episodic=True, goals=goals)
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
