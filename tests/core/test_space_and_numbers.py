"""Labels and places; numbers that stay what they were written as."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import ModelError, NotExact, UnknownLabel, WrongType
from workbench.core.numbers import Numbers, number
from workbench.core.space import Bits, Product, Space, Subset, buffer_space


@pytest.mark.parametrize(
    "space",
    [
        Space(["a", "b", "c"]),
        Bits(3),
        Product(Space([1, 2]), Bits(2)),
        buffer_space(Space(["o"]), 2),
        Subset(Product(Bits(1), Space([7, 8, 9])), np.array([5, 0, 3])),
    ],
)
def test_index_undoes_label(space):
    labels = list(space)
    assert len(labels) == len(space) == len(set(labels))
    assert [space.index(label) for label in labels] == list(range(len(space)))
    assert all(label in space for label in labels)
    assert Space(labels) == space
    assert space[-1] == labels[-1]
    assert "nowhere" not in space


def test_the_last_factor_of_a_product_runs_fastest():
    assert list(Product(Space(["a", "b"]), Bits(1))) == [
        ("a", "0"),
        ("a", "1"),
        ("b", "0"),
        ("b", "1"),
    ]


def test_products_are_equal_if_their_labels_are():
    one = Product(Space(["a", "b"]), Bits(1))
    assert one == Product(Space(["a", "b"]), Bits(1))
    assert one == Space(list(one))
    assert one != Product(Space(["a", "c"]), Bits(1))


def test_a_member_of_the_parent_is_not_a_member_of_the_subset():
    some = Subset(Bits(2), np.array([3, 1]))
    assert list(some) == ["11", "01"]
    assert "00" not in some
    with pytest.raises(UnknownLabel):
        some.index("00")


def test_an_unknown_label_is_answered_with_the_nearest():
    with pytest.raises(UnknownLabel, match=r"unknown label 'gren'; the nearest of 3: 'green'"):
        Space(["red", "green", "blue"]).index("gren")
    with pytest.raises(KeyError):
        Space(["red"]).index(["unhashable"])


def test_spaces_refuse_doubles_emptiness_and_strings():
    with pytest.raises(ModelError, match="label a occurs twice"):
        Space(["a", "b", "a"])
    with pytest.raises(ModelError, match="empty"):
        Space([])
    with pytest.raises(WrongType, match="single string 'abc'"):
        Space("abc")
    with pytest.raises(WrongType, match="not hashable"):
        Space([["a"]])
    with pytest.raises(ModelError, match="empty sign"):
        buffer_space(Space([None, "o"]), 1)


def test_numbers_know_exact_from_float():
    assert number(3) == Fraction(3)
    assert isinstance(number(np.int64(3)), Fraction)
    assert number(sympy.Rational(1, 3)) == Fraction(1, 3)
    assert isinstance(number(np.float32(0.5)), float)
    assert not Numbers.of([1, 2.0]).is_exact
    assert Numbers.of(np.array([1, 2])).is_exact
    with pytest.raises(WrongType, match="'1/2' is not a number"):
        number("1/2")
    with pytest.raises(WrongType, match="neither rational"):
        number(sympy.sqrt(2))
    with pytest.raises(NotExact):
        _ = Numbers.of([0.5]).objects
    with pytest.raises(NotExact, match="give g a value first"):
        _ = Numbers.of([sympy.Symbol("g")]).floats


fractions = st.lists(
    st.fractions(min_value=-2, max_value=2, max_denominator=7), min_size=1, max_size=8
)


@given(fractions, fractions)
def test_exact_arrays_behave_as_the_lists_they_came_from(x, y):
    n = min(len(x), len(y))
    x, y = x[:n], y[:n]
    a, b = Numbers.of(x), Numbers.of(y)
    assert a.objects.tolist() == x
    assert a.times(b).objects.tolist() == [p * q for p, q in zip(x, y, strict=True)]
    assert a.floats.tolist() == [float(p) for p in x]
    assert a.map(lambda p: p + 1).objects.tolist() == [p + 1 for p in x]
    assert a.take([n - 1, 0]).objects.tolist() == [x[n - 1], x[0]]
    assert [a[i] for i in range(n)] == x


def test_floats_are_read_as_the_decimals_they_print_as():
    assert Numbers.of([0.1, 0.9]).rationalised().objects.tolist() == [
        Fraction(1, 10),
        Fraction(9, 10),
    ]


def test_an_expression_that_is_zero_somewhere_is_not_zero():
    x, y = sympy.symbols("x y")
    zero_where_it_is_tried = x - sympy.Rational(37, 101)
    assert number(zero_where_it_is_tried) == zero_where_it_is_tried
    assert number((x + y) ** 2 - x**2 - 2 * x * y - y**2) == 0


def test_an_exact_array_of_few_values_is_small():
    big = Numbers.full((1000, 1000), Fraction(1, 3))
    assert big.codes.nbytes == 1_000_000
    assert big[5, 7] == Fraction(1, 3)


@pytest.mark.parametrize("label", ["ab", ("a",), ("a", "b", "a"), ["a", "b"]])
def test_a_label_of_a_product_is_a_tuple_with_a_part_for_each_factor(label):
    two = Space(["a", "b"])
    assert Product(two, two).index(("a", "b")) == 1
    with pytest.raises(UnknownLabel):
        Product(two, two).index(label)


def test_a_space_shows_six_of_its_members():
    assert repr(Space(range(6))) == "{0, 1, 2, 3, 4, 5} (6)"
    assert repr(Space(range(7))) == "{0, 1, 2, 3, 4, 5, ...} (7)"
