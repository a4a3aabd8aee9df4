"""The same again: repeated rounds, and messages replayed from another round, epoch or session."""

import numpy as np
import pytest
from parties import Table, altered, opened, refused_with, said, sum_of, vector

from fedmpca.crypto.keys import enc, mask_key
from fedmpca.crypto.masks import mask
from fedmpca.crypto.ring import negated
from fedmpca.errors import ProtocolError
from fedmpca.protocol.coordinator import Coordinator
from fedmpca.protocol.member import Member
from fedmpca.protocol.messages import End, Hello, HelloAsk, seal_message
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import as_vector
from fedmpca.studies.mpca import mpca_study
from fedmpca.studies.queries import InitialScatters, StreamSums

SHAPE = (3, 2)
QUERY = StreamSums(SHAPE)
OTHER = InitialScatters(np.full(SHAPE, 0.5))


def begun(**given):
    table = Table(shape=SHAPE, **given)
    table.hello()
    return table


# A round asked again


def other_data(table):
    """Member 0's answer when its data has changed since it was first asked."""
    count, streams = table.answer(0, QUERY)
    return count, streams + 7.0


def test_a_member_that_is_asked_again_sends_the_same_bytes_whatever_its_data_are_by_then():
    """The coordinator asks round 1 twice, hoping for two vectors under one mask: it gets the same one."""
    table = begun()
    table.round = 1
    request = table.request(QUERY)
    first = table.tell(0, request)
    assert table.members[0].receive(request) == first
    assert table.tell(0, request, other_data(table)) == first


def test_a_member_that_is_asked_again_while_it_works_says_nothing():
    """The second request comes before the first is answered: there is one piece of work, and so one answer."""
    table = begun()
    table.round = 1
    request = table.request(QUERY)
    work = table.members[0].receive(request)
    assert table.members[0].receive(request) is None
    reply = work.finish(table.answer(0, QUERY))
    assert table.members[0].receive(request) == reply


def test_one_piece_of_work_gives_one_vector():
    """The member's own program finishes its work twice, with other data: the mask is used up, and it says nothing."""
    table = begun()
    table.round = 1
    request = table.request(QUERY)
    work = table.members[0].receive(request)
    first = work.finish(table.answer(0, QUERY))
    assert work.finish(other_data(table)) is None
    assert table.members[0].receive(request) == first


@pytest.mark.parametrize("answered", [True, False])
def test_another_question_in_an_open_or_answered_round_ends_the_session(answered):
    """The coordinator asks two questions in one round: the second gets a refusal, and the keys are gone."""
    table = begun()
    table.round = 1
    first, second = table.request(QUERY), table.request(OTHER)
    table.members[0].receive(first) if not answered else table.tell(0, first)
    assert refused_with(table.tell(0, second), "protocol")
    assert "a second, different question in round 1" in str(table.members[0].reason)
    assert table.members[0]._secrets == {}
    with pytest.raises(ProtocolError, match="erased"):
        table.members[0]._key.shared_with(said(table.hellos[1]).key)


def ending(table, how):
    """What ends the session at member 0 while it works: a second question, or the coordinator's end."""
    if how == "second question":
        return table.request(OTHER)
    table.round = 2
    return table.sealed(End(code="silent"))


@pytest.mark.parametrize("how", ["second question", "end"])
def test_work_that_is_finished_after_the_session_ended_sends_no_numbers(how):
    """The coordinator ends the session while a member computes, when its keys are erased: no vector leaves any more."""
    table = begun()
    table.round = 1
    work = table.members[0].receive(table.request(QUERY))
    assert refused_with(table.tell(0, ending(table, how)), "protocol" if how == "second question" else "ended")
    assert work.finish(table.answer(0, QUERY)) is None


def ended_unnoticed():
    """Weakened: a member whose session ended while it worked, and which does not know any more that it did."""
    table = begun()
    table.round = 1
    work = table.members[0].receive(table.request(QUERY))
    table.tell(0, table.request(OTHER))
    table.members[0]._ended, table.members[0]._answer = False, None
    return table, work


def test_even_an_end_that_goes_unnoticed_leaves_no_keys_to_answer_with():
    """Weakened so, the member still finds that it has no secrets to mask with: a refusal leaves, and no vector."""
    table, work = ended_unnoticed()
    assert refused_with(work.finish(table.answer(0, QUERY)), "protocol")


def test_were_keys_then_overwritten_with_zeros_the_answer_would_leave_as_good_as_unmasked():
    """Weakened twice: who guesses that erased secrets are zeros strips the masks, and reads the answer exactly."""
    table, work = ended_unnoticed()
    table.members[0]._secrets = dict.fromkeys((1, 2), bytes(32))
    late = work.finish(table.answer(0, QUERY))
    y = vector(late)
    for other in (1, 2):
        info = enc("mask", 1, said(late).ctx, 0, other)
        mask(y, mask_key(bytes(32), table.sid, info), negative=True)
    assert (y == as_vector(QUERY, table.answer(0, QUERY), table.agreement)).all()


def forgets_the_round(member):
    """Weakened: the member no longer knows that it answered."""
    member._round, member._asked, member._answer, member._before = member._round - 1, b"", None, None


def test_were_a_repeat_answered_anew_the_difference_of_two_vectors_would_be_that_of_the_answers():
    """Weakened: a two-time pad. The mask is the same both times; who carries messages subtracts it away."""
    table = begun()
    table.round = 1
    request = table.request(QUERY)
    first = vector(table.tell(0, request))
    forgets_the_round(table.members[0])
    second = vector(table.tell(0, request, other_data(table)))
    difference = sum_of([second, negated(first)])
    answers = [as_vector(QUERY, one, table.agreement) for one in (other_data(table), table.answer(0, QUERY))]
    assert (difference == sum_of([answers[0], negated(answers[1])])).all()


def test_even_then_another_question_would_have_another_mask():
    """Weakened alike, but asked something else: masks are bound to the question, so the difference is noise."""
    table = begun()
    table.round = 1
    first = vector(table.tell(0, table.request(QUERY)))
    forgets_the_round(table.members[0])
    second = vector(table.tell(0, table.request(OTHER), answer=(np.zeros(6), np.zeros(3))))
    assert sum_of([second[-1:], negated(first[-1:])]).any()  # the zeros of both, under one mask, would cancel


# Messages of another round or session, said to a member


def test_requests_of_a_round_that_is_over_are_dropped():
    """Who carries messages sends round 1 again in round 2: dropped and counted, and round 2 is still answered."""
    table = begun()
    table.round = 1
    old = table.request(QUERY)
    table.round = 0
    replies = table.ask(QUERY)
    table.ask(OTHER, table.total(replies))
    assert table.tell(0, old) is None
    assert table.members[0].dropped == 1
    assert table.members[0].reason is None


def test_requests_of_an_earlier_session_are_dropped():
    """Who carries messages sends what the coordinator signed in another session: dropped and counted."""
    table = begun()
    hello_ask = table.sealed(HelloAsk(agreement=table.agreement.hash, epoch=0), sid=bytes(32))
    earlier = table.ask(QUERY)
    first_ask = table.request(QUERY)
    table.round = 2
    second_ask = table.request(OTHER, table.total(earlier))
    table.begin()
    table.hello()
    table.ask(QUERY)
    for old in (first_ask, second_ask, hello_ask):
        assert table.tell(0, old) is None
    assert table.members[0].dropped == 3
    assert table.members[0].reason is None


def test_were_old_requests_not_dropped_a_broker_could_end_any_session(monkeypatch):
    """Weakened: a member holds what was replayed against the coordinator, and gives up."""
    monkeypatch.setattr(Member, "_is_stale", lambda *args: False)
    table = begun()
    table.round = 1
    old = table.request(QUERY)
    table.round = 0
    table.ask(OTHER, table.total(table.ask(QUERY)))
    assert refused_with(table.tell(0, old), "protocol")


def test_an_old_first_question_does_not_open_a_new_session():
    """Who carries messages replays the first question of an earlier session: its hellos have member 0's old key."""
    table = begun()
    table.round = 1
    old = table.request(QUERY)
    table.begin()
    table.ask_hello()
    assert refused_with(table.tell(0, old), "protocol")
    assert table.members[0]._secrets == {}


def test_a_question_never_leaps_over_a_round():
    """The coordinator leaves a round out, so that a total need not be told: nobody answers."""
    table = begun()
    replies = table.ask(QUERY)
    table.round += 1
    assert refused_with(table.ask(OTHER, table.total(replies))[0], "protocol")


# Hellos of another epoch or conversation


def hello_of(table, number, *, sid=bytes(32), round_=0, **changes):
    hello = said(table.members[number]._hello)
    entries = {name: getattr(hello, name) for name in ("agreement", "epoch", "transcript", "key")}
    body = Hello(**{**entries, **changes})
    return seal_message(body, sid=sid, sender=number, round_=round_, identity=table.identities[number])


REPLAYS = {
    "epoch": ({"epoch": 1}, "belongs to another session"),
    "round": ({"round_": 3}, "belongs to another session"),
    "session": ({"sid": bytes([1]) * 32}, "belongs to another session"),
    "conversation": ({"transcript": bytes(32)}, "remembers another conversation"),
    "agreement": ({"agreement": bytes(32)}, "holds another agreement"),
}


@pytest.mark.parametrize("of", REPLAYS)
def test_a_hello_of_another_time_is_refused(of):
    """The coordinator hands on what member 2 once signed for another epoch, round, session, conversation, agreement."""
    changes, reason = REPLAYS[of]
    table = Table(shape=SHAPE)
    hellos = table.ask_hello()
    table.take((*hellos[:2], hello_of(table, 2, **changes)))
    assert refused_with(table.ask(QUERY)[0], "protocol")
    assert reason in str(table.members[0].reason)


@pytest.mark.parametrize("of", REPLAYS)
def test_were_hellos_taken_as_they_come_a_replayed_one_would_open_the_session(of, monkeypatch):
    """Weakened: only the session key of a hello is looked at, and the session begins on a mixture of times."""
    monkeypatch.setattr(Session, "_key", lambda self, number, text: said(text).key)
    table = Table(shape=SHAPE)
    hellos = table.ask_hello()
    table.take((*hellos[:2], hello_of(table, 2, **REPLAYS[of][0])))
    assert len(said(table.ask(QUERY)[0]).y) == 16 * 8


# Messages of another round or session, said to the coordinator


def driven(table):
    """A coordinator after the hello and the first question, and everybody's reply to it."""
    study = mpca_study(SHAPE, ranks=(1, 1), variance_kept=0.97, tol=0.0, max_iter=1)
    coordinator = Coordinator(table.agreement, table.coordinator, study)
    asked, replies = coordinator.start(0.0), {}
    for _ in range(2):
        replies = {number: table.tell(number, text) for number, text in asked.items()}
        if coordinator.round == 1:
            break
        for number, text in replies.items():
            asked = coordinator.receive(number, text, 0.0)
    return coordinator, replies


def test_replies_of_another_session_or_round_are_dropped_by_the_coordinator():
    """Who carries messages gives the coordinator what members signed before: dropped, counted, still awaited."""
    table = Table(shape=SHAPE)
    _, old = driven(table)
    table.begin()
    coordinator, replies = driven(table)
    assert coordinator.receive(0, old[0], 0.0) == {}
    assert coordinator.receive(0, altered(old[0], sid=opened(replies[0]).sid), 0.0) == {}
    asked = {}
    for number, text in replies.items():
        asked = coordinator.receive(number, text, 0.0)
    assert len(asked) == 3
    assert coordinator.receive(0, replies[0], 0.0) == {}
    assert coordinator.dropped == 3
    assert coordinator.error is None
    assert coordinator.silent_members == table.agreement.roster


def test_two_answers_of_one_member_in_one_round_end_the_session_by_name():
    """A member signs two vectors for one question: it is named, and the session ends."""
    table = Table(shape=SHAPE)
    coordinator, replies = driven(table)
    coordinator.receive(0, replies[0], 0.0)
    other = said(replies[0])
    reply = type(other)(ctx=other.ctx, y=bytes(len(other.y)))
    second = seal_message(reply, sid=opened(replies[0]).sid, sender=0, round_=1, identity=table.identities[0])
    ended = coordinator.receive(0, second, 0.0)
    assert len(ended) == 3
    assert "member-0 signed two different answers in round 1" in str(coordinator.error)


def test_every_session_has_another_name_and_other_masks():
    """The same parties, agreement and question a second time: nothing of the first session fits the second."""
    table = begun()
    first_sid, first = table.sid, vector(table.ask(QUERY, of=[0])[0])
    table.begin()
    table.hello()
    second = vector(table.ask(QUERY, of=[0])[0])
    assert table.sid != first_sid
    assert sum_of([second[-1:], negated(first[-1:])]).any()
