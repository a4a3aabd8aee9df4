"""What numbers can betray: carries between the halves of an entry, and sums that wrap."""

import numpy as np
import pytest
from parties import Table, refused_with, said, sum_of, vector
from scipy.stats import chisquare

from fedmpca.crypto import ring
from fedmpca.crypto.ring import bound, to_bytes
from fedmpca.errors import DataError, ProtocolError
from fedmpca.protocol.messages import Refusal
from fedmpca.protocol.sums import added, as_answer, as_vector, check_total
from fedmpca.studies.queries import Captured

SHAPE = (2,)
QUERY = Captured(np.zeros(SHAPE), (np.eye(2)[:, :1],))


def begun():
    table = Table(shape=SHAPE)
    table.hello()
    return table


def exponent(table):
    return bound(QUERY.bounds(SHAPE, table.agreement.bounds)[0])


# Carries


def without_carries(monkeypatch):
    """Weakened: an entry is two independent sums of 64 bits."""
    monkeypatch.setattr("fedmpca.crypto.masks.add", lambda total, y: np.add(total, y, out=total))
    monkeypatch.setattr("fedmpca.crypto.masks.subtract", lambda total, y: np.subtract(total, y, out=total))


def halves(summands, *, carry):
    """High half of the total of a round in which the members answer these multiples of the smallest unit."""
    table = begun()
    unit = np.ldexp(1.0, exponent(table) - 126)
    replies = table.ask(QUERY, answers=[(np.array([number * unit]),) for number in summands])
    vectors = [vector(text) for text in replies.values()]
    total = sum_of(vectors) if carry else np.sum(vectors, axis=0, dtype=np.uint64)
    assert not total[-1].any()
    return int(total[0, 0]), int(total[0, 1].view(np.int64))


def same_total(rng):
    """Three summands that add up to 5, among them one, two or no negative ones."""
    a, b = (int(number) for number in rng.integers(-(2**40), 2**40, size=2))
    return a, b, 5 - a - b


def test_without_carries_the_high_half_counts_the_members_that_are_negative(monkeypatch):
    """Weakened: all totals are 5, and the adder reads off the high half how many summands were below zero."""
    without_carries(monkeypatch)
    rng, seen = np.random.default_rng(0), set()
    for _ in range(20):
        summands = same_total(rng)
        low, high = halves(summands, carry=False)
        assert low == 5
        assert -high == sum(number < 0 for number in summands)
        seen.add(high)
    assert len(seen) > 1


def test_with_carries_the_total_tells_nothing_but_the_total():
    """The adder sees the same 16 bytes whatever the summands were that add up to 5."""
    rng = np.random.default_rng(0)
    assert {halves(same_total(rng), carry=True) for _ in range(20)} == {(5, 0)}


@pytest.mark.parametrize("number", [0, -1, 2**50])
def test_neither_half_of_a_masked_entry_depends_on_the_other_or_on_the_number(number):
    """Who sees a member's entries counts pairs of bits at the border of the halves: all are equally frequent."""
    table = begun()
    unit = np.ldexp(1.0, exponent(table) - 126)
    seen = []
    for _ in range(400):
        table.begin()
        table.hello()
        seen.append(vector(table.ask(QUERY, of=[0], answers=[(np.array([number * unit]),)])[0])[0])
    low, high = np.array(seen).T
    pairs = 2 * (low >> np.uint64(63)) + (high & np.uint64(1))
    assert chisquare(np.bincount(pairs.astype(int), minlength=4)).pvalue > 1e-6


# Wrapping


@pytest.mark.parametrize("share", [1.0 + 2**-40, 2.0, 1e6, np.inf, -np.inf, np.nan])
def test_a_number_beyond_the_agreed_bound_is_not_sent(share):
    """A member's data give more than 2^E / n: it sends a code that tells no value, and reads the reason at home."""
    table = begun()
    number = share * np.ldexp(1.0, exponent(table)) / 3
    reply = table.ask(QUERY, of=[0], answers=[(np.array([number]),)])[0]
    assert said(reply) == Refusal(code="answer")
    assert isinstance(table.members[0].reason, DataError)
    assert table.members[0]._secrets == {}


def test_the_largest_numbers_that_are_sent_add_up_without_wrapping():
    """All members answer as much as they may: the total is 2^E to the last bit that n leaves, and passes."""
    for sign in (1.0, -1.0):
        table = begun()
        largest = sign * np.ldexp(1.0, exponent(table)) / 3
        replies = table.ask(QUERY, answers=[(np.array([largest]),)] * 3)
        bodies = [said(text) for text in replies.values()]
        total = added(QUERY, bodies, bodies[0].ctx, table.agreement)
        assert as_answer(QUERY, total, table.agreement)[0][0] == pytest.approx(3 * largest, rel=1e-15)


def test_were_ranges_not_checked_a_sum_would_wrap_into_a_likely_number(monkeypatch):
    """Weakened: three members answer 1.5 times the bound. Their sum wraps to half of it, and nobody notices."""

    def unchecked(x, exponent, n_summands, out):
        return ring.encode(x, exponent, 0.5, out=out)

    monkeypatch.setattr("fedmpca.protocol.sums.encode", unchecked)
    table = begun()
    size = np.ldexp(1.0, exponent(table))
    replies = table.ask(QUERY, answers=[(np.array([1.5 * size]),)] * 3)
    bodies = [said(text) for text in replies.values()]
    total = added(QUERY, bodies, bodies[0].ctx, table.agreement)
    assert as_answer(QUERY, total, table.agreement)[0][0] == 0.5 * size


def test_a_total_just_beyond_the_bound_is_refused_and_the_bound_itself_is_not():
    """Who adds falsely by one unit above 2^E is found out; 2^E is what honest answers can reach."""
    table = begun()
    reached = as_vector(QUERY, (np.zeros(1),), table.agreement)
    for high, low, passes in ((1 << 62, 0, True), (1 << 62, 1, False), (3 << 62, 0, True), ((3 << 62) - 1, 5, False)):
        reached[0] = (low, high)
        if passes:
            check_total(QUERY, reached, table.agreement)
            continue
        with pytest.raises(ProtocolError, match="beyond what the agreed bounds allow"):
            check_total(QUERY, reached, table.agreement)


def test_a_refusal_is_the_same_bytes_whatever_the_number_was():
    """The coordinator compares two refusals, of a number just too large and of one far too large: they are alike."""
    bodies = set()
    for share in (1.1, 1e9):
        table = begun()
        number = share * np.ldexp(1.0, exponent(table)) / 3
        reply = table.ask(QUERY, of=[0], answers=[(np.array([number]),)])[0]
        assert refused_with(reply, "answer")
        bodies.add(reply)
    assert len(bodies) == 1
    assert to_bytes(as_vector(QUERY, (np.zeros(1),), table.agreement)) not in bodies
