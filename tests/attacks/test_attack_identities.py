"""Who says it: brokers that play coordinator, members that are invented or echoed, session keys that share with all."""

import hashlib

import numpy as np
import pytest
from parties import Table, altered, entropy, opened, refused_with, said, vector

from fedmpca.crypto.keys import Identity, SessionKey, enc, hash_of, mask_key
from fedmpca.crypto.masks import mask
from fedmpca.errors import FedMPCAError, ProtocolError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.coordinator import Coordinator
from fedmpca.protocol.messages import Ask, End, Hello, HelloAsk, seal_message
from fedmpca.protocol.questions import Arrays, query_bytes
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import as_vector
from fedmpca.studies.mpca import mpca_study
from fedmpca.studies.queries import StreamSums

SHAPE = (3, 2)
QUERY = StreamSums(SHAPE)
LOW_ORDER = [0, 1, 325606250916557431795983626356110631294008115727848805560023387167927233504, 2**255 - 20]


def no_signatures(monkeypatch):
    """Weakened: whatever stands where a signature belongs is believed."""
    monkeypatch.setattr("fedmpca.protocol.messages.verify", lambda *args: None)


def low(number):
    return number.to_bytes(32, "little")


def hello_with(table, number, key, identity=None):
    """A member's hello with a session key of someone's choice."""
    body = Hello(
        agreement=table.agreement.hash, epoch=0, transcript=hash_of("transcript", table.agreement.hash), key=key
    )
    identity = identity or table.identities[number]
    return seal_message(body, sid=bytes(32), sender=number, round_=0, identity=identity)


def begun_with(table, changed):
    """Hellos as the members say them, but these; then the first question."""
    hellos = list(table.ask_hello())
    for number, text in changed.items():
        hellos[number] = text
    table.take(hellos)
    return table.ask(QUERY, of=[0])[0]


def stripped(table, reply, secrets):
    """Member 0's vector less the masks made from these secrets, by whoever has them."""
    y = vector(reply)
    for other, secret in secrets.items():
        info = enc("mask", table.round, said(reply).ctx, 0, other)
        mask(y, mask_key(secret, table.sid, info), negative=True)
    return y


def own(table):
    """Member 0's answer, as only member 0 should know it."""
    return as_vector(QUERY, table.answer(0, QUERY), table.agreement)


# A broker that plays coordinator


def test_a_broker_that_plays_coordinator_is_not_answered():
    """Who carries messages signs requests with a key of its own: each is dropped and counted; the session goes on."""
    table, broker = Table(shape=SHAPE), Identity.new(entropy(99))
    table.round = 0
    bodies = [HelloAsk(agreement=table.agreement.hash, epoch=0), End(code="ended")]
    for body in bodies:
        assert table.tell(0, table.sealed(body, identity=broker)) is None
    table.hello()
    table.round = 1
    question = Ask(query=query_bytes(QUERY, Arrays()), total=b"", hellos=table.hellos)
    for forged in (
        table.sealed(question, identity=broker),
        table.sealed(question, identity=table.identities[1]),
        table.sealed(question, identity=table.identities[1], sender=1),
        altered(table.sealed(question), body=table.sealed(question)),
        altered(table.sealed(question), round=2),
    ):
        assert table.tell(0, forged) is None
    assert table.members[0].dropped == 7
    assert len(said(table.tell(0, table.sealed(question))).y) == 16 * 8


def test_were_signatures_not_verified_the_broker_would_be_answered(monkeypatch):
    """Weakened: the broker gets a hello, and then an answer."""
    no_signatures(monkeypatch)
    table = Table(shape=SHAPE)
    table.coordinator = Identity.new(entropy(99))
    table.hello()
    assert len(said(table.ask(QUERY)[0]).y) == 16 * 8


def test_a_broker_cannot_end_a_session_by_spoiling_messages():
    """Whatever single bit of a request is turned on the way, the member drops it, and answers the true one after."""
    table = Table(shape=SHAPE)
    table.hello()
    table.round = 1
    true = table.request(QUERY)
    places = np.random.default_rng(0).integers(8 * len(true), size=200)
    for place in places:
        spoiled = bytearray(true)
        spoiled[place // 8] ^= 1 << (place % 8)
        assert table.members[0].receive(bytes(spoiled)) is None
    assert table.members[0].dropped == 200
    assert len(said(table.tell(0, true)).y) == 16 * 8


# Members that the coordinator invents or replaces


@pytest.mark.parametrize("signer", ["invented", "another member"])
def test_a_hello_that_another_key_signed_is_refused(signer):
    """The coordinator puts a session key of its own in member 2's place: member 0 sees who signed, and says nothing."""
    table = Table(shape=SHAPE)
    identity = Identity.new(entropy(99)) if signer == "invented" else table.identities[1]
    forged = hello_with(table, 2, SessionKey(entropy(98)).public, identity)
    reply = begun_with(table, {2: forged})
    assert refused_with(reply, "protocol")
    assert "member-2 was not signed by the key agreed" in str(table.members[0].reason)


@pytest.mark.parametrize("change", ["one less", "one more", "two swapped", "none"])
def test_exactly_the_roster_says_hello(change):
    """The coordinator leaves a member out, doubles one, or swaps two: nobody answers."""
    table = Table(shape=SHAPE)
    a, b, c = table.ask_hello()
    table.take((a, b, c))
    table.hellos = {"one less": (a, b), "one more": (a, b, c, c), "two swapped": (a, c, b), "none": ()}[change]
    replies = table.ask(QUERY)
    assert all(refused_with(text, "protocol") for text in replies.values())


def test_a_member_whose_own_hello_was_replaced_says_so():
    """The coordinator answers for member 0 with a key of its own, signed by nobody: member 0 knows its own hello."""
    table = Table(shape=SHAPE)
    earlier = table.ask_hello()[0]
    table.begin()
    reply = begun_with(table, {0: earlier})
    assert refused_with(reply, "protocol")
    assert "My own hello came back altered" in str(table.members[0].reason)


def test_were_signatures_not_verified_a_coordinator_would_invent_everybody_else(monkeypatch):
    """Weakened: the coordinator plays members 1 and 2, knows every mask of member 0, and reads its answer exactly."""
    no_signatures(monkeypatch)
    table = Table(shape=SHAPE)
    keys = {number: SessionKey(entropy(90 + number)) for number in (1, 2)}
    stranger = Identity.new(entropy(99))
    reply = begun_with(table, {number: hello_with(table, number, key.public, stranger) for number, key in keys.items()})
    victim = said(table.hellos[0]).key
    y = stripped(table, reply, {number: key.shared_with(victim) for number, key in keys.items()})
    assert (y == own(table)).all()


def test_an_agreement_with_one_key_for_two_members_is_refused():
    """Whoever writes the agreement gives a member two names: two of three would be one."""
    table = Table(shape=SHAPE)
    text = table.agreement.text.decode().replace(table.identities[1].public.hex(), table.identities[0].public.hex())
    with pytest.raises(FedMPCAError, match="public key"):
        Agreement.read(text.encode())


# Session keys


@pytest.mark.parametrize("number", LOW_ORDER)
def test_a_session_key_of_low_order_is_refused_by_every_other_member(number):
    """Member 2 says hello with a key that shares the same secret with everybody: nobody answers."""
    table = Table(shape=SHAPE)
    reply = begun_with(table, {2: hello_with(table, 2, low(number))})
    assert refused_with(reply, "protocol")
    assert "low order" in str(table.members[0].reason)


@pytest.mark.parametrize("number", [2**255 - 19, 2**255 - 19 + 9, 2**256 - 1])
def test_a_session_key_written_otherwise_is_refused(number):
    """Member 2 writes the key that member 1 has in another way, to pass for different: nobody answers."""
    table = Table(shape=SHAPE)
    reply = begun_with(table, {2: hello_with(table, 2, low(number))})
    assert refused_with(reply, "protocol")
    assert "canonically" in str(table.members[0].reason)


def test_were_low_order_keys_accepted_an_outsider_would_read_the_answer(monkeypatch):
    """Weakened: the exchange gives zeros for such keys. Who knows no secret at all strips the masks of member 0."""

    def exchanged(self, public):
        return bytes(32)

    monkeypatch.setattr(SessionKey, "shared_with", exchanged)
    table = Table(shape=SHAPE)
    reply = begun_with(table, {1: hello_with(table, 1, low(0)), 2: hello_with(table, 2, low(1))})
    assert (stripped(table, reply, {1: bytes(32), 2: bytes(32)}) == own(table)).all()


def test_a_session_key_that_two_members_have_is_refused_by_all():
    """Member 2 echoes member 1's key: coordinator and members name both, and the session does not begin."""
    table = Table(shape=SHAPE)
    hellos = list(table.ask_hello())
    hellos[2] = hello_with(table, 2, said(hellos[1]).key)
    with pytest.raises(ProtocolError, match="the other's echo"):
        Session(table.agreement).open(hellos)
    table.take(hellos)
    assert all(refused_with(text, "protocol") for text in table.ask(QUERY).values())


def test_were_echoed_keys_accepted_one_member_would_know_the_masks_of_two(monkeypatch):
    """Weakened: echoes are let in. Member 1, alone with the coordinator, strips member 2's mask with its own secret."""

    def believing(self, hellos):
        self.keys = tuple(said(text).key for text in hellos)
        self.sid = table.sid

    monkeypatch.setattr(Session, "open", believing)
    table = Table(shape=SHAPE)
    hellos = list(table.ask_hello())
    hellos[2] = hello_with(table, 2, said(hellos[1]).key)
    table.take(hellos)
    reply = table.ask(QUERY, of=[0])[0]
    secret = table.members[1]._key.shared_with(said(hellos[0]).key)
    assert (stripped(table, reply, {1: secret, 2: secret}) == own(table)).all()


# Reflected messages


def coordinator_of(table):
    study = mpca_study(SHAPE, ranks=(1, 1), variance_kept=0.97, tol=0.0, max_iter=1)
    return Coordinator(table.agreement, table.coordinator, study)


def reflections(table, hellos):
    """Member 0's own hello as it is, and in the name of the coordinator and of member 1."""
    return {
        "as it is": hellos[0],
        "as the coordinator's": altered(hellos[0], sender=3),
        "in another's name": altered(hellos[0], sender=1),
    }


def test_what_a_member_said_comes_back_to_it_and_is_dropped():
    """Who carries messages sends a member its own hello and reply, also relabelled: dropped, counted, not answered."""
    table = Table(shape=SHAPE)
    table.hello()
    reply = table.ask(QUERY)[0]
    for text in (*reflections(table, table.hellos).values(), reply, altered(reply, sender=3, round=2)):
        assert table.tell(0, text) is None
    assert table.members[0].dropped == 5


def test_what_a_member_said_is_not_taken_for_another_members():
    """Who carries messages gives member 0's hello to the coordinator as member 1's: dropped, counted, still awaited."""
    table = Table(shape=SHAPE)
    coordinator = coordinator_of(table)
    asked = coordinator.start(0.0)
    hello = table.tell(0, asked[0])
    coordinator.receive(0, hello, 0.0)
    for text in (hello, altered(hello, sender=1), asked[1]):
        assert coordinator.receive(1, text, 0.0) == {}
    assert coordinator.dropped == 3
    assert coordinator.silent_members == ["member-1", "member-2"]


def test_were_signatures_not_verified_a_reflected_hello_would_pass_for_another_members(monkeypatch):
    """Weakened: member 0's hello, relabelled, counts as member 1's."""
    no_signatures(monkeypatch)
    table = Table(shape=SHAPE)
    coordinator = coordinator_of(table)
    hello = table.tell(0, coordinator.start(0.0)[0])
    coordinator.receive(1, altered(hello, sender=1), 0.0)
    assert coordinator.silent_members == ["member-0", "member-2"]


def test_a_hello_handed_on_in_another_name_is_refused_by_the_members():
    """The coordinator hands on member 1's hello once more in the place of member 2."""
    table = Table(shape=SHAPE)
    hellos = table.ask_hello()
    for echo in (hellos[1], altered(hellos[1], sender=2)):
        with pytest.raises(ProtocolError, match="member-2 was not signed by the key agreed"):
            Session(table.agreement).open((hellos[0], hellos[1], echo))


def test_a_signature_covers_everything_that_is_said():
    """Who carries messages changes label, session, sender, round or body: no other text has the same signature."""
    table = Table(shape=SHAPE)
    table.hello()
    table.round = 1
    envelope = opened(table.request(QUERY))
    body = hashlib.sha256(envelope.body).digest()
    texts = {envelope.signed(body), envelope.signed(bytes(32))}
    for change in ({"version": 2}, {"sid": bytes(32)}, {"sender": 1}, {"round": 2}):
        texts.add(opened(altered(table.request(QUERY), **change)).signed(body))
    assert len(texts) == 6
