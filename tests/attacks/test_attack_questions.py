"""A coordinator that asks, or tells, different members different things: the total is noise, and everybody sees it."""

from types import SimpleNamespace

import numpy as np
import pytest
from parties import Table, refused_with, said, sum_of, vector

from fedmpca.crypto.ring import bound, decode, negated, to_bytes, within
from fedmpca.errors import ProtocolError
from fedmpca.protocol.messages import Close
from fedmpca.protocol.questions import CATALOGUE, Arrays, query_bytes
from fedmpca.protocol.sums import added, as_vector, check_total, context, hide
from fedmpca.studies.queries import Captured, InitialScatters, ModeScatter, StreamSums

# For streams of two pixels, sums and scatters have three entries each: any can be asked in place of any other.
SHAPE = (2,)
MEAN, MOVED = np.array([0.5, -1.0]), np.array([10.0, -1.0])
LEFT, RIGHT = np.eye(2)[:, :1], np.eye(2)[:, 1:]
PAIRS = {
    "StreamSums": (StreamSums(SHAPE), InitialScatters(MEAN)),
    "InitialScatters": (InitialScatters(MEAN), InitialScatters(MOVED)),
    "ModeScatter": (
        ModeScatter(0, 1, MEAN, (LEFT,), None, False),
        ModeScatter(0, 1, MOVED, (LEFT,), None, False),
    ),
    "Captured": (Captured(MEAN, (LEFT,)), Captured(MEAN, (RIGHT,))),
}
"""For each query of the catalogue: what everybody is asked, and what one member is asked instead."""


def everybody_and_one(name):
    if name not in PAIRS:
        pytest.fail(f"{name} is new in the catalogue: say in PAIRS what a cheating coordinator would ask instead.")
    return PAIRS[name]


def noisy(query, total, table):
    """Whether the total is nothing like a sum: its zero is not zero."""
    with pytest.raises(ProtocolError, match="did not cancel"):
        check_total(query, total, table.agreement)
    return bool(total[-1].any())


@pytest.mark.parametrize("name", CATALOGUE)
def test_different_questions_to_different_members_give_noise_and_are_refused(name):
    """The coordinator asks member 0 another question, hoping for its answer as a difference: it gets noise."""
    query, instead = everybody_and_one(name)
    table = Table(shape=SHAPE)
    table.hello()
    honest = table.ask(query)
    total = table.total(honest)
    replies = table.ask({0: instead, 1: query, 2: query}, total)
    bodies = [said(text) for text in replies.values()]
    assert bodies[0].ctx != bodies[1].ctx == bodies[2].ctx
    with pytest.raises(ProtocolError, match="member-0 answered another question"):
        added(query, bodies, bodies[1].ctx, table.agreement)
    assert noisy(query, sum_of([vector(text) for text in replies.values()]), table)


@pytest.mark.parametrize("name", CATALOGUE)
def test_were_ctx_not_compared_the_zero_would_tell(name):
    """A coordinator that adds without comparing ctx still finds that the masks have not cancelled."""
    query, instead = everybody_and_one(name)
    table = Table(shape=SHAPE)
    table.hello()
    replies = table.ask({0: instead, 1: query, 2: query})
    alike = [SimpleNamespace(ctx=b"", y=said(text).y) for text in replies.values()]
    with pytest.raises(ProtocolError, match="did not cancel"):
        added(query, alike, b"", table.agreement)


@pytest.mark.parametrize("name", CATALOGUE)
def test_were_masks_not_bound_to_the_question_the_difference_would_show_one_member(name, monkeypatch):
    """Weakened: masks bound to nothing. New total less old total is member 0's answer less its answer before."""
    monkeypatch.setattr(
        "fedmpca.protocol.member.hide",
        lambda y, number, secrets, sid, round_, ctx: hide(y, number, secrets, sid, round_, b"constant"),
    )
    query, instead = everybody_and_one(name)
    table = Table(shape=SHAPE)
    table.hello()
    honest = table.ask(query)
    before = sum_of([vector(text) for text in honest.values()])
    replies = table.ask({0: instead, 1: query, 2: query}, to_bytes(before))
    after = sum_of([vector(text) for text in replies.values()])
    check_total(query, after, table.agreement)  # the zero is zero: nobody would notice
    difference = sum_of([after, negated(before)])
    asked, usual = (as_vector(one, table.answer(0, one), table.agreement) for one in (instead, query))
    assert (difference == sum_of([asked, negated(usual)])).all()
    assert difference.any()


def test_without_the_zero_noise_would_pass_for_a_total():
    """Weakened: bounds alone. About half of all noise of one entry is within them, and is decoded without an error."""
    query, instead = PAIRS["Captured"]
    table, passed, caught = Table(shape=SHAPE), 0, 0
    exponent = bound(query.bounds(SHAPE, table.agreement.bounds)[0])
    for _ in range(30):
        table.begin()
        table.hello()
        total = sum_of([vector(text) for text in table.ask({0: instead, 1: query, 2: query}).values()])
        caught += noisy(query, total, table)
        passed += within(total[:-1], exponent) and bool(np.isfinite(decode(total[:-1], exponent)).all())
    assert caught == 30
    assert 5 <= passed <= 25


def test_the_same_question_spelled_otherwise_is_another_question():
    """ctx is over the bytes as received: a coordinator cannot tell members apart by how it writes, either."""
    query = InitialScatters(MEAN)
    known = Arrays()
    first, again = query_bytes(query, known), query_bytes(query, known)
    assert first != again
    assert context(b"s", 1, first, b"t") != context(b"s", 1, again, b"t")


def lied_to(table, query, honest, number):
    """Totals by member: the true one, and for one member another that no check of its own can find wrong."""
    false = sum_of([vector(text) for text in honest.values()])
    false[0, 1] += np.uint64(1 << 20)
    totals = dict.fromkeys(range(table.n), table.total(honest))
    return {**totals, number: to_bytes(false)}


def test_different_totals_to_different_members_are_noticed_at_the_next_round():
    """The coordinator tells member 1 another total: its transcript differs, so does ctx, and nothing adds up again."""
    query, following = StreamSums(SHAPE), InitialScatters(MEAN)
    table = Table(shape=SHAPE)
    table.hello()
    totals = lied_to(table, query, table.ask(query), 1)
    replies = table.ask(following, totals)
    bodies = [said(text) for text in replies.values()]
    assert bodies[1].ctx not in {bodies[0].ctx, bodies[2].ctx}
    with pytest.raises(ProtocolError, match="member-1 answered another question"):
        added(following, bodies, bodies[0].ctx, table.agreement)
    assert noisy(following, sum_of([vector(text) for text in replies.values()]), table)


def test_different_last_totals_show_in_the_signatures_of_the_close():
    """The last total has no round after it: each member signs the conversation as it saw it, and they do not agree."""
    table = Table(shape=SHAPE)
    table.hello()
    totals = lied_to(table, StreamSums(SHAPE), table.ask(StreamSums(SHAPE)), 1)
    table.round += 1
    closed = [said(table.tell(number, table.sealed(Close(total=totals[number], result=b"")))) for number in range(3)]
    assert closed[0].transcript == closed[2].transcript != closed[1].transcript


def test_were_totals_not_in_the_transcript_different_totals_would_go_unnoticed(monkeypatch):
    """Weakened: what was said is forgotten. Then member 1 computes on from a false total, and everything adds up."""
    monkeypatch.setattr("fedmpca.protocol.session.Session.heard", lambda *args: None)
    query, following = StreamSums(SHAPE), InitialScatters(MEAN)
    table = Table(shape=SHAPE)
    table.hello()
    replies = table.ask(following, lied_to(table, query, table.ask(query), 1))
    bodies = [said(text) for text in replies.values()]
    assert len({body.ctx for body in bodies}) == 1
    added(following, bodies, bodies[0].ctx, table.agreement)


def lies(table, honest):
    """False totals that the coordinator may try, and what is wrong with each."""
    true = sum_of([vector(text) for text in honest.values()])
    beyond, spoiled = true.copy(), true.copy()
    beyond[1] = (1, 1 << 62)  # one more than 2^126
    spoiled[-1, 0] = 1
    return {"beyond": to_bytes(beyond), "spoiled": to_bytes(spoiled), "short": to_bytes(true[1:]), "none": b""}


@pytest.mark.parametrize("lie", ["beyond", "spoiled", "short", "none"])
def test_a_lying_total_beyond_what_sums_can_be_is_refused_by_every_member(lie):
    """The coordinator tells a total that no honest answers have: each member ends the session, alike."""
    table = Table(shape=SHAPE)
    table.hello()
    honest = table.ask(StreamSums(SHAPE))
    replies = table.ask(InitialScatters(MEAN), lies(table, honest)[lie])
    assert all(refused_with(text, "protocol") for text in replies.values())


@pytest.mark.parametrize("lie", ["beyond", "spoiled"])
def test_were_totals_not_checked_a_lying_one_would_be_believed(lie, monkeypatch):
    """Weakened: members take any total of the right length."""
    monkeypatch.setattr("fedmpca.protocol.member.check_total", lambda *args: None)
    table = Table(shape=SHAPE)
    table.hello()
    honest = table.ask(StreamSums(SHAPE))
    replies = table.ask(InitialScatters(MEAN), lies(table, honest)[lie])
    assert not any(refused_with(text, "protocol") for text in replies.values())


def test_a_lying_total_within_the_bounds_told_to_all_passes():
    """Documented: until members add by themselves, the coordinator is trusted to add rightly."""
    table = Table(shape=SHAPE)
    table.hello()
    totals = lied_to(table, StreamSums(SHAPE), table.ask(StreamSums(SHAPE)), 0)
    replies = table.ask(InitialScatters(MEAN), totals[0])
    added(InitialScatters(MEAN), [said(text) for text in replies.values()], said(replies[0]).ctx, table.agreement)


def test_a_member_that_answers_beyond_the_bounds_ends_the_session_at_the_coordinator():
    """One member alone adds so much to its vector that the total cannot be a sum: it is refused, not decoded."""
    query = StreamSums(SHAPE)
    table = Table(shape=SHAPE)
    table.hello()
    replies = table.ask(query)
    bodies = [said(text) for text in replies.values()]
    added(query, bodies, bodies[0].ctx, table.agreement)
    y = vector(replies[0])
    y[1, 1] += np.uint64(3 << 61)
    falsified = [SimpleNamespace(ctx=bodies[0].ctx, y=to_bytes(y)), *bodies[1:]]
    with pytest.raises(ProtocolError, match="beyond what the agreed bounds allow"):
        added(query, falsified, bodies[0].ctx, table.agreement)
