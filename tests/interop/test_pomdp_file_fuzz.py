"""Malformed files: nothing but the reader's own error, no hanging, no memory without bound."""

from __future__ import annotations

import json
import tracemalloc

import file_fuzz
import pytest
from file_fuzz import damaged_text
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import pomdps
from strategies_files import files

from pomdps import recall4
from workbench import POMDP
from workbench.interop.pomdp_file import PomdpFileError, load_pomdp, parse_pomdp, pomdp_text

LIMIT = 3000


def attempt(text: str, **reading) -> POMDP | PomdpFileError:
    try:
        return parse_pomdp(text, max_outcomes=LIMIT, **reading)
    except PomdpFileError as error:
        found = error
    if found.line is not None:
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert found.text == lines[found.line - 1]
        assert 1 <= found.column <= len(found.text) + 1
        assert f":{found.line}:{found.column}: " in str(found)
    return found


@given(files(), st.randoms(use_true_random=False))
def test_damaged_files_raise_the_readers_error_or_are_read(text, rng):
    attempt(damaged_text(text, rng), **file_fuzz.reading(rng))


@given(pomdps(most_states=2).map(pomdp_text), st.randoms(use_true_random=False))
def test_damaged_notes_raise_the_readers_error_or_are_read(text, rng):
    attempt(damaged_text(text, rng), **file_fuzz.reading(rng))


@given(st.text(max_size=200))
@example("discount: 1\rvalues: reward\rstates: 1\ractions: 1\robservations: 1\rT: 0 1\rO: 0 1\r")
def test_any_text_at_all(text):
    attempt(text)


@given(st.binary(max_size=200))
def test_any_bytes_at_all(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("bytes") / "any.POMDP"
    path.write_bytes(data)
    with pytest.raises(PomdpFileError):
        load_pomdp(path)


@given(files(), st.integers(0, 10**6))
def test_a_file_cut_off_anywhere(text, where):
    attempt(text[: where % (len(text) + 1)])


HEADER = "discount: 0.9 values: reward states: {S} actions: {A} observations: {O}\n"


@pytest.mark.parametrize(
    "header",
    [
        HEADER.format(S=10**9, A=2, O=2),
        HEADER.format(S=2, A=10**9, O=2),
        HEADER.format(S=2, A=2, O=10**9),
        HEADER.format(S=10**5, A=10**5, O=2),
        HEADER.format(S="9" * 5000, A=2, O=2),
    ],
)
def test_sizes_beyond_the_limit_are_refused_before_anything_is_allocated(header):
    tracemalloc.start()
    with pytest.raises(PomdpFileError, match=r"too large: .*; .*10,000,000 at most"):
        parse_pomdp(header + "T: * uniform\nO: * uniform\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "lines",
    [
        "T: * uniform\nO: * uniform",
        "T: * : * : * 0.0001\nO: * uniform",
        "T: * identity\nO: * : * : * 0.001",
        "\n".join(f"T: * : * : {i} 0.0001" for i in range(9000)) + "\nO: * uniform",
        "\n".join(f"T: 0 : {i} : * 0.{i}" for i in range(9000)) + "\nO: * uniform",
        "T: * identity\nO: 0 uniform\nO: 1 : * : 0 1\nR: * : * : * : 1 1",
    ],
)
def test_tables_beyond_the_limit_are_refused_before_they_are_filled(lines):
    # a row that is no distribution may be met before the limit
    with pytest.raises(
        PomdpFileError, match=r"too large: at least .* outcomes; the limit is 100,000 |sums to"
    ):
        parse_pomdp(HEADER.format(S=9000, A=2, O=900) + lines, max_outcomes=100_000)


def test_twenty_thousand_lines_for_everything_cost_no_more_than_the_last():
    lines = "T: * uniform\nO: * uniform\nT: * : * : 0 0.5\nR: * : * : * : * 1\n" * 5_000
    P = parse_pomdp(
        HEADER.format(S=100, A=10, O=3) + lines + "T: * uniform\n", max_outcomes=200_000
    )
    assert len(P.S) == 100


@pytest.mark.parametrize(
    "number", ["1e999999999999", "1e-999999999", "9" * 5000, "0." + "3" * 5000, "1" * 4301 + "e1"]
)
@pytest.mark.parametrize("exact", [True, False])
def test_enormous_numbers_are_refused_or_read_at_once(number, exact):
    found = attempt(
        HEADER.format(S=1, A=1, O=1) + f"T: 0 1\nO: 0 1\nR: * : * : * : * {number}", exact=exact
    )
    if isinstance(found, POMDP):
        assert found.R == (0,)  # floats underflow
    else:
        assert found.line == 4


def test_long_runs_without_blanks_take_linear_time():
    for run in (
        "1" * 200_000 + "x",
        "a-" * 100_000,
        ":" * 200_000,
        "+" * 200_000,
        "." * 200_000,
        "1e+" * 60_000,
    ):
        with pytest.raises(PomdpFileError) as error:
            parse_pomdp(run)
        assert len(str(error.value)) < 600


def test_a_fault_at_the_end_of_a_large_matrix_is_found_in_linear_time():
    text = HEADER.format(S=450, A=1, O=1) + "T: 0 " + "0.5 " * (450 * 450 - 1) + "half"
    with pytest.raises(
        PomdpFileError, match="row 450, column 450 of the 202,500 numbers for this T, found 'half'"
    ):
        parse_pomdp(text)


def _spoiled_note(change) -> str:
    """A file whose note fits its tokens and says something wrong."""
    lines = pomdp_text(recall4()).split("\n")
    data = json.loads(lines[2].removeprefix("#@workbench"))
    change(data)
    return "\n".join([*lines[:2], f"#@workbench {json.dumps(data)}", *lines[3:]])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(S=["a"] * len(data["S"])),
        lambda data: data.update(O=[{}]),
        lambda data: data.update(name=3),
        lambda data: data.update(gamma="1/0"),
        lambda data: data.update(gamma="9" * 5000),
        lambda data: data.update(gamma=True),
        lambda data: data.update(mu=[[-1, "1"]]),
        lambda data: data.update(mu=[[0, "1/2"]]),
        lambda data: data.update(terminal=[99]),
        lambda data: data.update(terminal=[True]),
        lambda data: data.update(allowed=[[]]),
        lambda data: data.update(allowed=[[7]]),
        lambda data: data.update(allowed=3),
        lambda data: data.update(p=data["p"][1:]),
        lambda data: data["p"].__setitem__(0, [[0, 1]]),
        lambda data: data["p"].__setitem__(0, 3),
        lambda data: data.update(omega=None),
        lambda data: data.clear(),
    ],
)
def test_a_note_that_holds_no_model_points_to_its_line(change):
    with pytest.raises(PomdpFileError, match="no model of this version") as error:
        parse_pomdp(_spoiled_note(change))
    assert error.value.line == 3


@pytest.mark.parametrize("note", ["[" * 100_000, 'name: "x"', "copies: [5]", "{}", "3", ""])
def test_a_note_of_another_version_points_to_its_line(note):
    with pytest.raises(PomdpFileError, match="no model of this version") as error:
        parse_pomdp(f"# first\n#@workbench {note}\ndiscount: 1")
    assert error.value.line == 2
