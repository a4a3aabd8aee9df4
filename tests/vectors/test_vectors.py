"""Vectors: the standards' through our functions, our own as they were made once, and bad ones that must be refused."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import modes

from fedmpca.crypto import keys, masks, ring
from fedmpca.crypto.keys import Identity, SessionKey
from fedmpca.errors import AgreementError, ProtocolError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.limits import largest_message
from fedmpca.protocol.member import Member, Work
from fedmpca.protocol.messages import Damaged, Refusal, body_of, open_message
from fedmpca.protocol.questions import Arrays, check_query, read_query
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import context
from fedmpca.studies.sample import Sample
from fedmpca.studies.workers import answers

HERE = Path(__file__).parent
STANDARD, OWN, BAD = (json.loads((HERE / f"{name}.json").read_text("utf-8")) for name in ("standard", "own", "bad"))
SESSION = OWN["session"]
AGREEMENT = Agreement.read(SESSION["agreement"].encode())
hexed = bytes.fromhex


def name_of(vector):
    return vector.get("from") or f"{vector['of']}: {vector['name']}"


# Standards


@pytest.mark.parametrize("vector", STANDARD["X25519"], ids=name_of)
def test_x25519(vector):
    key = SessionKey(lambda n: hexed(vector["secret"])[:n])
    assert key.public.hex() == vector.get("own", key.public.hex())
    assert key.shared_with(hexed(vector["public"])).hex() == vector["shared"]


@pytest.mark.parametrize("vector", STANDARD["Ed25519"], ids=name_of)
def test_ed25519(vector):
    identity = Identity(hexed(vector["secret"]))
    assert identity.public.hex() == vector["public"]
    assert identity.sign(hexed(vector["text"])).hex() == vector["signature"]
    keys.verify(hexed(vector["public"]), hexed(vector["text"]), hexed(vector["signature"]))


@pytest.mark.parametrize("vector", STANDARD["HKDF-SHA256"], ids=name_of)
def test_hkdf(vector):
    assert keys.mask_key(*(hexed(vector[name]) for name in ("secret", "salt", "info"))).hex() == vector["key"]


@pytest.mark.parametrize("vector", STANDARD["AES-256-CTR"], ids=name_of)
def test_aes_256_ctr(vector, monkeypatch):
    """Our streams count from 0; the standard's vector from elsewhere, so here the stream is begun where it begins."""
    begins_at = modes.CTR(hexed(vector["counter"]))
    monkeypatch.setattr(masks, "modes", SimpleNamespace(CTR=lambda zero: begins_at))
    text = np.frombuffer(hexed(vector["text"]), np.uint8)
    y = np.zeros((len(text) // 16, 2), np.uint64)
    masks.mask(y, hexed(vector["key"]), negative=False)
    assert (np.frombuffer(ring.to_bytes(y), np.uint8) ^ text).tobytes().hex() == vector["sealed"]


# Our own


def item_of(typed):
    ((kind, value),) = typed.items()
    return {"bytes": hexed, "float": float.fromhex}.get(kind, lambda same: same)(value) if kind != "int" else int(value)


def ring_of(text):
    return ring.from_bytes(hexed(text), len(text) // 32)


def given_by(vector):
    """What our function of this name gives, in the vector's spelling."""
    of = vector["of"]
    if of in ("enc", "hash_of"):
        return getattr(keys, of)(*map(item_of, vector["items"])).hex()
    if of == "bound":
        return ring.bound(float.fromhex(vector["largest"]))
    if of == "encode":
        x = np.array([float.fromhex(value) for value in vector["values"]])
        return ring.to_bytes(ring.encode(x, vector["exponent"], vector["n"])).hex()
    if of == "decode":
        return [float(x).hex() for x in ring.decode(ring_of(vector["y"]), vector["exponent"])]
    if of == "mask_key":
        return keys.mask_key(*(hexed(vector[name]) for name in ("shared", "sid", "info"))).hex()
    if of == "context":
        sid, query, transcript = (hexed(vector[name]) for name in ("sid", "query", "transcript"))
        return context(sid, vector["round"], query, transcript).hex()
    y = ring_of(vector["y"] if of == "mask" else vector["summands"][0])
    if of == "mask":
        masks.mask(y, hexed(vector["key"]), negative=vector["negative"])
    else:
        ring.add(y, ring_of(vector["summands"][1]))
    return ring.to_bytes(y).hex()


@pytest.mark.parametrize("vector", OWN["functions"], ids=lambda vector: vector["of"])
def test_functions_give_what_they_gave(vector):
    assert given_by(vector) == vector["gives"]


def new_members():
    return [
        Member(
            AGREEMENT,
            name,
            Identity(hexed(SESSION["identities"][number])),
            n_assets=len(SESSION["streams"][number]),
            entropy=lambda n, number=number: hexed(SESSION["session keys"][number])[:n],
        )
        for number, name in enumerate(AGREEMENT.roster)
    ]


def says(member, text):
    heard = member.receive(text)
    if not isinstance(heard, Work):
        return heard
    (answer,) = answers(heard.query, [Sample(np.array(SESSION["streams"][member.number]))])
    return heard.finish(answer)


def test_a_whole_session_goes_to_the_byte_as_it_went():
    """Each member, given the recorded requests, says the recorded replies: masks, signatures, transcript and all."""
    members = new_members()
    for step in SESSION["steps"]:
        for member, reply in zip(members, step["they say"], strict=True):
            assert says(member, hexed(step["to all"])).hex() == reply
    assert all(member.result == b"result" for member in members)


def test_name_and_transcripts_of_the_session():
    session = Session(AGREEMENT)
    assert AGREEMENT.hash.hex() == SESSION["agreement hash"]
    session.open([hexed(text) for text in SESSION["steps"][0]["they say"]])
    assert session.sid.hex() == SESSION["sid"]
    assert session.transcript.hex() == SESSION["transcripts"][0]
    bodies = [opened(step["to all"]) for step in SESSION["steps"][1:]]
    for (ask, following), transcript in zip(pairwise(bodies), SESSION["transcripts"][1:], strict=True):
        session.heard(ask.query, following.total)
        assert session.transcript.hex() == transcript


def opened(text):
    n = AGREEMENT.n_members
    envelope, _ = open_message(hexed(text), key=AGREEMENT.key(n), sender=n, largest=largest_message(AGREEMENT))
    return body_of(envelope, object, "The coordinator")


# Bad ones


def bad(kind):
    return [pytest.param(vector, id=name_of(vector)) for vector in BAD if vector["of"] == kind]


@pytest.mark.parametrize("vector", bad("question"))
def test_bad_questions_are_refused_when_read_or_checked(vector):
    with pytest.raises(ProtocolError) as refused:
        check_query(read_query(hexed(vector["bytes"]), Arrays()), AGREEMENT)
    assert vector["refused by"] == "ProtocolError"
    assert vector["says"] in str(refused.value)


@pytest.mark.parametrize("vector", bad("message"))
def test_damaged_messages_are_dropped_and_counted(vector):
    text, n = hexed(vector["bytes"]), AGREEMENT.n_members
    with pytest.raises(Damaged) as dropped:
        open_message(text, key=AGREEMENT.key(n), sender=n, largest=largest_message(AGREEMENT))
    assert vector["refused by"] == "Damaged"
    assert vector["says"] in str(dropped.value)
    member = new_members()[0]
    says(member, hexed(SESSION["steps"][0]["to all"]))
    assert member.receive(text) is None
    assert (member.dropped, member.reason) == (1, None)


@pytest.mark.parametrize("vector", bad("body"))
def test_bad_bodies_under_a_true_signature_end_the_session(vector):
    member = new_members()[0]
    says(member, hexed(SESSION["steps"][0]["to all"]))
    reply = says(member, hexed(vector["bytes"]))
    envelope, _ = open_message(reply, key=AGREEMENT.key(0), sender=0, largest=1024)
    assert body_of(envelope, Refusal, "member-0").code == "protocol"
    assert type(member.reason).__name__ == vector["refused by"]
    assert vector["says"] in str(member.reason)


@pytest.mark.parametrize("vector", bad("agreement"))
def test_bad_agreements_are_refused_when_read(vector):
    with pytest.raises(AgreementError) as refused:
        Agreement.read(vector["text"].encode())
    assert vector["refused by"] == "AgreementError"
    assert vector["says"] in str(refused.value)


def test_every_bad_vector_is_tried_by_one_of_the_tests_above():
    assert {vector["of"] for vector in BAD} == {"question", "message", "body", "agreement"}
    assert len({name_of(vector) for vector in BAD}) == len(BAD)
