"""Whatever bytes arrive: neither machine raises or answers, and decoders raise the typed errors only."""

import hashlib

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from parties import Table, opened, said

from fedmpca.errors import AgreementError, DataError, ProtocolError, RefusedError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.coordinator import Coordinator
from fedmpca.protocol.member import Work
from fedmpca.protocol.messages import (
    VERSION,
    Ask,
    Bodies,
    Boxes,
    Close,
    Closed,
    Damaged,
    End,
    Envelope,
    Hello,
    HelloAsk,
    Pass,
    Refusal,
    Reply,
    Share,
    Values,
    body_of,
    open_message,
    seal_message,
)
from fedmpca.protocol.questions import Arrays, check_query, query_bytes, read_query
from fedmpca.protocol.results import read_projection
from fedmpca.studies.mpca import mpca_study
from fedmpca.studies.queries import Captured, InitialScatters, ModeScatter, StreamSums

SHAPE = (3, 2)
MEAN = np.zeros(SHAPE)
FACTORS = (np.eye(3)[:, :1], np.eye(2)[:, :1])
QUERIES = [
    StreamSums(SHAPE),
    InitialScatters(MEAN),
    ModeScatter(0, 1, MEAN, FACTORS, 1, False),
    Captured(MEAN, FACTORS),
]
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150, derandomize=True)


def a_coordinator(table):
    study = mpca_study(SHAPE, ranks=(1, 1), variance_kept=0.97, tol=0.0, max_iter=1)
    coordinator = Coordinator(table.agreement, table.coordinator, study)
    return coordinator, coordinator.start(0.0)


def real_messages():
    """One of each kind that a session has, of the parties that the tests below use."""
    table = Table(shape=SHAPE)
    coordinator, asked = a_coordinator(table)
    found = list(asked.values())
    while not coordinator.done and len(found) < 60:
        replies = {number: table.tell(number, text) for number, text in asked.items()}
        found += replies.values()
        for number, text in replies.items():
            asked = coordinator.receive(number, text, 0.0)
        found += asked.values()
    return found


MESSAGES = real_messages()


@st.composite
def damaged(draw):
    """A real message with some of its bytes changed, cut off, doubled or moved."""
    text = bytearray(draw(st.sampled_from(MESSAGES)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, min(len(text), start + 40)))
        change = draw(st.sampled_from(["turn", "cut", "double", "replace"]))
        if change == "turn":
            text[start] ^= draw(st.integers(1, 255))
        elif change == "cut":
            del text[start:end]
        elif change == "double":
            text[end:end] = text[start:end]
        else:
            text[start:end] = draw(st.binary(max_size=40))
        text = text or bytearray(b"\x00")
    return bytes(text)


anything = st.one_of(st.binary(max_size=200), damaged())


@relaxed
@given(anything)
def test_no_bytes_make_a_member_raise_or_answer(text):
    """Who carries messages gives a member whatever it likes, before the session and in it: dropped and counted."""
    for stage in ("new", "begun"):
        table = Table(shape=SHAPE)
        if stage == "begun":
            table.hello()
            table.ask(QUERIES[0])
        if text in MESSAGES:
            continue
        member = table.members[0]
        assert member.receive(text) is None
        assert member.dropped == 1
        assert member.reason is None


@relaxed
@given(anything, st.integers(-2, 5))
def test_no_bytes_make_the_coordinator_raise_answer_or_end(text, number):
    """Who carries messages gives the coordinator whatever it likes, from whomever: the session goes on."""
    table = Table(shape=SHAPE)
    coordinator, asked = a_coordinator(table)
    if text in MESSAGES:
        return
    assert coordinator.receive(number, text, 0.0) == {}
    assert coordinator.error is None
    assert coordinator.dropped == 1
    assert coordinator.silent_members == table.agreement.roster
    assert len(asked) == 3


plain_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 2**64 - 1), st.floats(), st.binary(max_size=40), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)
lengths = st.lists(st.integers(-1, 4), max_size=4)
arrays = st.one_of(
    st.builds(
        lambda shape, fill: {
            "type": "new",
            "shape": shape,
            "data": np.full(max(0, int(np.prod(shape))), fill).tobytes(),
        },
        lengths,
        st.sampled_from([0.0, 0.5, 1.0, np.nan, -np.inf, 51.0]),
    ),
    st.builds(lambda name: {"type": "again", "hash": name}, st.binary(min_size=31, max_size=33)),
)
numbers = st.one_of(st.integers(-1, 4), st.integers(0, 2**64 - 1))
values = st.one_of(st.none(), numbers, arrays, st.lists(st.one_of(numbers, arrays), max_size=4))
names = st.sampled_from(["StreamSums", "InitialScatters", "ModeScatter", "Captured", "Agreement", ""])
questions = st.one_of(
    st.tuples(names, st.lists(values, max_size=6)).map(msgspec.msgpack.encode),
    st.tuples(names, plain_values).map(msgspec.msgpack.encode),
    st.binary(max_size=60),
    st.sampled_from([query_bytes(query, Arrays()) for query in QUERIES]),
)


def signed_by_coordinator(table, body):
    """What only a cheating coordinator can send: a body of its choice, under its own true signature."""
    unsigned = Envelope(VERSION, table.sid, table.n, table.round, body, b"")
    signature = table.coordinator.sign(unsigned.signed(hashlib.sha256(body).digest()))
    return msgspec.msgpack.encode(msgspec.structs.replace(unsigned, signature=signature))


def as_ask(question, hellos):
    return msgspec.msgpack.encode(["Ask", question, b"", hellos])


OUT_OF_PLACE = [
    msgspec.msgpack.encode(["InitialScatters", [{"type": "new", "shape": [1] * 65, "data": bytes(8)}]]),
    msgspec.msgpack.encode(["StreamSums", [{"type": "new", "shape": [2], "data": bytes(16)}]]),
    msgspec.msgpack.encode(["StreamSums", [[{"type": "new", "shape": [2], "data": bytes(16)}, 2]]]),
    b"\x92\xa2\xff\xff\x90",
    query_bytes(ModeScatter(0, 1, MEAN, (1e200 * FACTORS[0], FACTORS[1]), 1, False), Arrays()),
]
"""Questions that made a member raise something else once."""


@relaxed
@given(questions)
@example(OUT_OF_PLACE[0])
@example(OUT_OF_PLACE[1])
@example(OUT_OF_PLACE[2])
@example(OUT_OF_PLACE[3])
@example(OUT_OF_PLACE[4])
def test_no_question_makes_a_member_raise(question):
    """A cheating coordinator signs any question: it is answered by work, or refused by the code that all such get."""
    table = Table(shape=SHAPE)
    table.hello()
    table.round = 1
    heard = table.members[0].receive(signed_by_coordinator(table, as_ask(question, table.hellos)))
    assert isinstance(heard, Work) or said(heard) == Refusal(code="protocol")


bodies = st.one_of(
    st.binary(max_size=60),
    st.tuples(
        st.sampled_from(
            [
                "HelloAsk",
                "Hello",
                "Ask",
                "Share",
                "Reply",
                "Values",
                "Boxes",
                "Pass",
                "Refusal",
                "Close",
                "Closed",
                "End",
            ]
        ),
        st.lists(plain_values, max_size=3),
    ).map(lambda pair: msgspec.msgpack.encode([pair[0], *pair[1]])),
)
NOT_UTF8 = b"\x92\xa3End\xa2\xff\xff"


@relaxed
@given(bodies, st.integers(0, 3))
@example(NOT_UTF8, 1)
def test_no_signed_body_makes_a_member_raise(body, round_):
    """A cheating coordinator signs any body, in any round: a reply, a refusal or nothing, and never an error."""
    table = Table(shape=SHAPE)
    table.hello()
    table.round = round_
    heard = table.members[0].receive(signed_by_coordinator(table, body))
    assert heard is None or isinstance(heard, Work | bytes)


@relaxed
@given(bodies)
@example(NOT_UTF8)
@example(b"\x92\xa7Refusal\xa2\xff\xff")
def test_no_signed_body_makes_the_coordinator_raise(body):
    """A lying member signs any body as its hello: the coordinator ends the session with a typed error, at most."""
    table = Table(shape=SHAPE)
    coordinator, asked = a_coordinator(table)
    honest = {number: table.tell(number, text) for number, text in asked.items()}
    unsigned = Envelope(VERSION, bytes(32), 1, 0, body, b"")
    signature = table.identities[1].sign(unsigned.signed(hashlib.sha256(body).digest()))
    lie = msgspec.msgpack.encode(msgspec.structs.replace(unsigned, signature=signature))
    for number, text in {**honest, 1: lie}.items():
        coordinator.receive(number, text, 0.0)
    assert coordinator.error is None or isinstance(coordinator.error, ProtocolError | RefusedError)
    assert coordinator.error is not None or coordinator.round == 1


@relaxed
@given(questions)
@example(OUT_OF_PLACE[0])
def test_only_typed_errors_escape_the_decoder_of_questions(text):
    """Any bytes as a question, read and checked."""
    agreement = Table(shape=SHAPE).agreement
    try:
        check_query(read_query(text, Arrays()), agreement)
    except ProtocolError:
        return
    assert opened(MESSAGES[0]).version == VERSION


@relaxed
@given(st.one_of(st.binary(max_size=80), plain_values.map(msgspec.msgpack.encode)))
def test_only_typed_errors_escape_the_decoders_of_envelopes_and_results(text):
    """Any bytes as an envelope or a result."""
    with pytest.raises(Damaged):
        open_message(text, key=bytes(32), sender=0, largest=100)
    with pytest.raises(ProtocolError):
        read_projection(text, SHAPE)


@relaxed
@given(bodies)
@example(NOT_UTF8)
def test_only_typed_errors_escape_the_decoder_of_bodies(body):
    """Any bytes as a signed body, where one kind is awaited."""
    try:
        found = body_of(Envelope(VERSION, bytes(32), 0, 0, body, b""), End, "Somebody")
    except ProtocolError:
        return
    assert isinstance(found, End)
    assert isinstance(found, Bodies)


toml_values = st.sampled_from(
    ["0", "-1", "1.5", "nan", "inf", "true", '""', '"x"', "[]", "[1, 2]", "[[1]]", "{}", "{a = 1}"]
)


@relaxed
@given(st.sampled_from(sorted(Agreement.__dataclass_fields__)), toml_values)
def test_only_typed_errors_escape_the_reader_of_agreements(name, value):
    """Whoever writes the agreement puts any value at any entry: it is read, or refused by a typed error."""
    text = Table(shape=SHAPE).agreement.text.decode()
    head, table = text.split("\n[members]\n")
    lines = [line for line in head.splitlines() if line and not line.startswith(f"{name} ")]
    members = "" if name == "members" else f"[members]\n{table}"
    try:
        agreed = Agreement.read("\n".join([*lines, f"{name} = {value}", members]).encode())
    except AgreementError:
        return
    assert not isinstance(getattr(agreed, name), list | dict)


@relaxed
@given(st.binary(max_size=80))
def test_no_bytes_are_read_as_an_agreement(text):
    """Any bytes as an agreement."""
    with pytest.raises(AgreementError):
        Agreement.read(text)


KINDS = [
    Hello(agreement=b"", epoch=0, transcript=b"", key=b""),
    HelloAsk(agreement=b"", epoch=0),
    Ask(query=b"", total=b"", hellos=()),
    Reply(ctx=b"", y=b""),
    Share(query=b"", boxes=(), hellos=()),
    Boxes(boxes=()),
    Pass(query=b"", box=b"", last=True),
    Values(ctx=b"", numbers=()),
    Refusal(code="nonsense"),
    Close(total=b"", result=b""),
    Closed(transcript=b"", result=b""),
    End(code="nonsense"),
]


def out_of_place(profile, body, in_round):
    """How the session ends at the coordinator when member 1 says this in that round, and the others are honest."""
    table = Table(profile, shape=SHAPE)
    coordinator, asked = a_coordinator(table)
    for _ in range(in_round):
        replies = {number: table.tell(number, text) for number, text in asked.items()}
        for number, text in replies.items():
            asked = coordinator.receive(number, text, 0.0)
    sid = opened(asked[0]).sid
    lie = seal_message(body, sid=sid, sender=1, round_=in_round, identity=table.identities[1])
    replies = {number: table.tell(number, text) for number, text in asked.items()}
    for number, text in {**replies, 1: lie}.items():
        coordinator.receive(number, text, 0.0)
    return coordinator.error


def test_no_kind_of_message_out_of_its_place_makes_the_coordinator_raise():
    """A lying member signs a message of any kind in the rounds of hello and first question: a typed error, no other."""
    for profile in ("secure", "paper", "plain"):
        for body in KINDS:
            for in_round in (0, 1):
                assert isinstance(out_of_place(profile, body, in_round), ProtocolError | RefusedError)


def test_a_count_of_nobody_makes_no_number_that_is_none():
    """A lying member takes away all the others' assets: the coordinator ends with a typed error, dividing nothing."""
    table = Table(shape=SHAPE)
    coordinator, asked = a_coordinator(table)
    replies = {number: table.tell(number, text) for number, text in asked.items()}
    for number, text in replies.items():
        asked = coordinator.receive(number, text, 0.0)
    counts = [-11.0, 7.0, 4.0]
    for number, text in asked.items():
        lie = (np.array([counts[number]]), np.zeros(6))
        coordinator.receive(number, table.tell(number, text, lie), 0.0)
    assert isinstance(coordinator.error, ProtocolError | DataError)


def test_a_largest_value_that_no_bound_can_hold_is_refused_when_agreed():
    """Whoever writes the agreement names so large a value that a bound would be infinite: nobody signs it."""
    with pytest.raises((AgreementError, DataError)):
        Table(shape=SHAPE, largest_value=1e200)
