"""The ring against exact fractions: sums are the correctly rounded sums of what was encoded, in any order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedmpca.crypto.ring import add, bound, decode, encode, from_bytes, negated, subtract, to_bytes, within
from fedmpca.errors import DataError, ProtocolError

exponents = st.integers(-300, 300)


def in_range(exponent, n):
    largest = math.ldexp(1.0, exponent) / n
    shares = st.one_of(st.floats(-1, 1), st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0**-60, -(2.0**-126), 2.0**-130]))
    return shares.map(lambda share: share * largest)


def integer(element):
    """The element as the integer that it stands for."""
    whole = int(element[0]) + (int(element[1]) << 64)
    return whole - (1 << 128) if whole >> 127 else whole


def half_even(fraction):
    return round(fraction)  # Python rounds fractions half to even


def nearest(fraction):
    """The float64 nearest to a fraction, ties to even."""
    return fraction.numerator / fraction.denominator


@given(exponents, st.data())
def test_encoding_rounds_half_to_even(exponent, data):
    x = data.draw(in_range(exponent, 1))
    expected = half_even(Fraction(x) * Fraction(2) ** (126 - exponent))
    assert integer(encode(np.array([x]), exponent, 1)[0]) == expected


@settings(max_examples=200)
@given(exponents, st.integers(1, 40), st.data())
def test_the_decoded_sum_is_the_correctly_rounded_sum_of_the_encoded_numbers_in_any_order(exponent, n, data):
    values = data.draw(st.lists(in_range(exponent, n), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))
    encoded = [encode(np.array([value]), exponent, n) for value in values]
    total = np.zeros((1, 2), np.uint64)
    for place in order:
        add(total, encoded[place])
    exact = sum(Fraction(integer(y[0])) for y in encoded) / Fraction(2) ** (126 - exponent)
    assert decode(total, exponent)[0] == nearest(exact)
    assert within(total, exponent)
    # what encoding lost: nothing of entries of at least 2^(E-74), else at most half a unit each
    lost = abs(sum(map(Fraction, values)) - exact)
    assert lost <= n * Fraction(2) ** (exponent - 127)
    if all(value == 0 or abs(value) >= math.ldexp(1.0, exponent - 74) for value in values):
        assert lost == 0


wide = st.integers(-(2**127), 2**127 - 1)


@given(st.lists(st.tuples(wide, wide), min_size=1, max_size=5))
@example([(-1, 1)])
@example([(2**64 - 1, 1), (-(2**127), -(2**127)), (2**127 - 1, 1)])
def test_adding_and_subtracting_are_modulo_2_to_the_128(pairs):
    def ring(numbers):
        return np.array([[k % 2**64, (k >> 64) % 2**64] for k in numbers], np.uint64)

    a, b = ([pair[side] for pair in pairs] for side in (0, 1))
    total = ring(a)
    add(total, ring(b))
    assert [(integer(y) - p - q) % 2**128 for y, p, q in zip(total, a, b, strict=True)] == [0] * len(pairs)
    subtract(total, ring(b))
    assert [integer(y) for y in total] == a
    assert [(integer(y) + p) % 2**128 for y, p in zip(negated(ring(a)), a, strict=True)] == [0] * len(pairs)
    assert (from_bytes(to_bytes(total), len(pairs)) == total).all()
    little = b"".join((k % 2**128).to_bytes(16, "little") for k in a)
    assert to_bytes(ring(a)) == little


@given(wide, st.integers(-50, 50))
@example(2**127 - 1, 0)
@example(-(2**127), 0)
@example(2**53 + 1, 126)
@example((2**53 + 1) << 10, 126)
@example((1 << 117) + (1 << 64), 126)
@example((1 << 117) + (1 << 64) + 1, 126)
@example(2**64 - 1, 126)
@example(2**64 + 2**11, 126)
def test_decoding_rounds_correctly(whole, exponent):
    y = np.array([[whole % 2**64, (whole >> 64) % 2**64]], np.uint64)
    assert decode(y, exponent)[0] == nearest(Fraction(whole) / Fraction(2) ** (126 - exponent))
    assert within(y, exponent) == (abs(whole) <= 2**126)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 1.0000001, -1.0000001, 1e308])
def test_what_is_out_of_range_raises_and_never_wraps(wrong):
    for n in (1, 3, 100):
        x = np.array([0.0, wrong / n if math.isfinite(wrong) else wrong, 0.0])
        with pytest.raises(DataError, match=r"bound 2\^0 / .*nothing was sent"):
            encode(x, 0, n)
        encode(np.array([1 / n, -1 / n]), 0, n)


def test_long_vectors_are_the_same_as_short_ones():
    x = np.random.default_rng(0).normal(size=50_001)
    whole = encode(x, 10, 3)
    one_by_one = np.concatenate([encode(x[place : place + 1], 10, 3) for place in range(0, 50_001, 997)])
    assert (whole[::997] == one_by_one).all()
    np.testing.assert_array_equal(decode(whole, 10), x)


@given(st.floats(1e-300, 1e300))
def test_the_bound_is_the_next_power_of_two(largest):
    exponent = bound(largest)
    assert math.ldexp(1.0, exponent - 1) < largest <= math.ldexp(1.0, exponent)


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(ProtocolError, match="32 bytes came where 3 ring elements take 48"):
        from_bytes(bytes(32), 3)
