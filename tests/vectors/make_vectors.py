"""Writes own.json and bad.json beside it, from fixed entropy: run once, when the wire format changes on purpose.

    python tests/vectors/make_vectors.py

Steps: 1. identities, the agreement and session keys from the fixed bytes below; 2. what each function gives of inputs
whose numbers are exact on every machine; 3. one whole session of three members with streams of whole numbers, message
by message: hello, sums, scatters about 0, close; 4. the same messages spoiled in one way each, with what must refuse
them. Another implementation of the protocol can be held against both files.
"""

import hashlib
import json
from pathlib import Path

import msgspec
import numpy as np

from fedmpca.crypto.keys import Identity, enc, hash_of, mask_key
from fedmpca.crypto.masks import mask
from fedmpca.crypto.ring import add, bound, decode, encode, from_bytes, to_bytes
from fedmpca.protocol.agreement import Agreement, write_agreement
from fedmpca.protocol.member import Member, Work
from fedmpca.protocol.messages import (
    NO_SESSION,
    VERSION,
    Ask,
    Close,
    Envelope,
    HelloAsk,
    Reply,
    seal_message,
)
from fedmpca.protocol.questions import Arrays, query_bytes
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import context
from fedmpca.studies.queries import Captured, InitialScatters, ModeScatter, StreamSums
from fedmpca.studies.sample import Sample
from fedmpca.studies.workers import answers

HERE = Path(__file__).parent
SHAPE = (3, 2)
ZERO = np.zeros(SHAPE)
FACTORS = (np.eye(3)[:, :1], np.eye(2)[:, :1])


def fixed(label):
    """32 bytes for one use."""
    return hashlib.sha256(b"fedmpca test vector: " + label.encode()).digest()


def typed(item):
    """An item of `enc` as JSON says it."""
    kind = type(item).__name__
    return {kind: item.hex() if isinstance(item, bytes | float) else item}


def streams(number):
    """Whole numbers, a few assets."""
    cells = 6 * (number + 2)
    return ((np.arange(cells) * (7 + number)) % 11 - 5.0).reshape(-1, *SHAPE)


def the_parties():
    identities = sorted((Identity(fixed(f"identity {k}")) for k in range(3)), key=lambda one: one.public)
    coordinator = Identity(fixed("coordinator"))
    text = write_agreement(
        coordinator=coordinator.public.hex(),
        shape=SHAPE,
        ranks=(1, 1),
        largest_value=8.0,
        most_assets=10,
        max_sweeps=3,
        members={f"member-{number}": one.public.hex() for number, one in enumerate(identities)},
    )
    return Agreement.read(text), identities, coordinator


def session_keys():
    return [fixed(f"session key {number}") for number in range(3)]


def new_members(agreement, identities):
    keys = session_keys()
    return [
        Member(agreement, name, identities[number], n_assets=number + 2, entropy=lambda n, k=keys[number]: k[:n])
        for number, name in enumerate(agreement.roster)
    ]


def said_by(member, number, text):
    heard = member.receive(text)
    if isinstance(heard, Work):
        (answer,) = answers(heard.query, [Sample(streams(number))])
        return heard.finish(answer)
    return heard


def functions():
    """Of each function: what it is given, and what it gives."""
    lists = [[], [b""], ["label"], ["a", b"b"], ["ab"], [0, 1, 2**64 - 1], [0.0], [-0.0], [0.1, "x", b"\x00\xff", 7]]
    found = [{"of": "enc", "items": [typed(x) for x in items], "gives": enc(*items).hex()} for items in lists]
    found += [
        {"of": "hash_of", "items": [typed(x) for x in items], "gives": hash_of(*items).hex()}
        for items in (["ctx"], ["sid", 1, b"key"], ["transcript", bytes(32)])
    ]
    found += [
        {"of": "bound", "largest": x.hex(), "gives": bound(x)}
        for x in (1.0, 1.5, 2.0, 2.0000000000000004, 3e7, 2.0**-40, 0.1)
    ]
    for exponent, n, values in (
        (0, 1, [0.0, -0.0, 1.0, -1.0, 0.5, -(2.0**-126), 2.0**-127, 3 * 2.0**-127, -(3 * 2.0**-127), 2.0**-128]),
        (10, 3, [300.1, -300.1, 1e-20, -1e-20, 2.0**-64, 341.3]),
        (-30, 2, [2.0**-31, -(2.0**-40), 1e-12]),
        (40, 3, [250.0, 100.0, 50.0]),
    ):
        y = to_bytes(encode(np.array(values), exponent, n))
        given = {"exponent": exponent, "n": n, "values": [x.hex() for x in values]}
        found.append({"of": "encode", **given, "gives": y.hex()})
    y = np.array(
        [[1, 0], [2**64 - 1, 2**64 - 1], [0, 1 << 62], [1, 1 << 53], [(1 << 11) + 1, 1 << 63], [5, (1 << 63) - 1]],
        np.uint64,
    )
    for exponent in (0, 126, -5):
        numbers = [float(x).hex() for x in decode(y, exponent)]
        found.append({"of": "decode", "exponent": exponent, "y": to_bytes(y).hex(), "gives": numbers})
    z = np.array(
        [[2**64 - 1, 0], [1, 0], [0, 1 << 62], [7, 2**64 - 1], [2**64 - 1, 1 << 63], [2**64 - 5, 9]], np.uint64
    )
    total = y.copy()
    add(total, z)
    found.append({"of": "add", "summands": [to_bytes(y).hex(), to_bytes(z).hex()], "gives": to_bytes(total).hex()})
    info = enc("mask", 1, bytes(32), 0, 1)
    key = mask_key(fixed("shared"), fixed("sid"), info)
    given = {"shared": fixed("shared").hex(), "sid": fixed("sid").hex(), "info": info.hex()}
    found.append({"of": "mask_key", **given, "gives": key.hex()})
    for negative in (False, True):
        masked = y.copy()
        mask(masked, key, negative=negative)
        given = {"key": key.hex(), "negative": negative, "y": to_bytes(y).hex()}
        found.append({"of": "mask", **given, "gives": to_bytes(masked).hex()})
    ctx = context(fixed("sid"), 3, b"query", fixed("transcript"))
    given = {"sid": fixed("sid").hex(), "round": 3, "query": b"query".hex(), "transcript": fixed("transcript").hex()}
    found.append({"of": "context", **given, "gives": ctx.hex()})
    return found


def total_of(replies):
    total = None
    for text in replies:
        y = msgspec.msgpack.decode(msgspec.msgpack.decode(text, type=Envelope).body, type=Reply).y
        ring = from_bytes(y, len(y) // 16)
        if total is None:
            total = ring
        else:
            add(total, ring)
    return to_bytes(total)


def whole_session():
    """A session, message by message; sid and transcripts as they become."""
    agreement, identities, coordinator = the_parties()
    members, session = new_members(agreement, identities), Session(agreement)
    steps, transcripts = [], [session.transcript.hex()]

    def tell(body, sid, round_):
        text = seal_message(body, sid=sid, sender=3, round_=round_, identity=coordinator)
        replies = [said_by(member, number, text) for number, member in enumerate(members)]
        steps.append({"to all": text.hex(), "they say": [reply.hex() for reply in replies]})
        return replies

    hellos = tell(HelloAsk(agreement=agreement.hash, epoch=0), NO_SESSION, 0)
    session.open(hellos)
    known, total, first = Arrays(), b"", tuple(hellos)
    for round_, query in enumerate((StreamSums(SHAPE), InitialScatters(ZERO)), start=1):
        text = query_bytes(query, known)
        replies = tell(Ask(query=text, total=total, hellos=first), session.sid, round_)
        total, first = total_of(replies), ()
        session.heard(text, total)
        transcripts.append(session.transcript.hex())
    tell(Close(total=total, result=b"result"), session.sid, 3)
    return {
        "agreement": agreement.text.decode(),
        "agreement hash": agreement.hash.hex(),
        "identities": [one.secret_bytes().hex() for one in identities],
        "coordinator": coordinator.secret_bytes().hex(),
        "session keys": [key.hex() for key in session_keys()],
        "streams": [streams(number).tolist() for number in range(3)],
        "sid": session.sid.hex(),
        "transcripts": transcripts,
        "steps": steps,
    }


# Bad ones


def raw_question(name, *values):
    return msgspec.msgpack.encode([name, list(values)])


def array(shape, data=None):
    data = bytes(8 * int(np.prod(shape))) if data is None else data
    return {"type": "new", "shape": list(shape), "data": data}


def asked(query):
    return query_bytes(query, Arrays())


def bad_questions():
    """Name, bytes of the question, and what must be said of it."""
    mean, one, two = array(SHAPE), array((3, 1), FACTORS[0].tobytes()), array((2, 1), FACTORS[1].tobytes())
    turned = (FACTORS[0] * (1 + 1e-11), FACTORS[1])
    wide = (np.eye(3)[:, :2], FACTORS[1])
    beyond, infinite = ZERO.copy(), ZERO.copy()
    beyond[0, 0], infinite[2, 1] = np.nextafter(8.0, 9.0), np.inf
    long_one = msgspec.msgpack.encode(["StreamSums", [[3, 2]], "more"])
    yield "unknown name", raw_question("StreamSquares", [3, 2]), "is no query of the catalogue"
    yield "no question at all", b"", "cannot be read"
    yield "truncated", asked(InitialScatters(ZERO))[:-1], "cannot be read"
    yield "one byte more", asked(StreamSums(SHAPE)) + b"\x00", "cannot be read"
    yield "one entry more", long_one, "cannot be read"
    yield "name that is no text", b"\x92\xa2\xff\xff\x90", "cannot be read"
    yield "unknown field in an array", raw_question("InitialScatters", {**mean, "order": "F"}), "cannot be read"
    yield "wrong tag of an array", raw_question("InitialScatters", {**mean, "type": "old"}), "cannot be read"
    yield "value too many", raw_question("StreamSums", [3, 2], None), "came with 2 values, and has 1"
    yield "value too few", raw_question("ModeScatter", 0, 1, mean, [one, two]), "came with 4 values, and has 6"
    yield "another shape", asked(StreamSums((2, 3))), "another stream shape"
    yield "shape that is an array", raw_question("StreamSums", array((2,))), "another stream shape"
    yield (
        "shape of arrays",
        raw_question("StreamSums", [array((1,), np.array([3.0]).tobytes()), 2]),
        "another stream shape",
    )
    yield (
        "array of another length",
        raw_question("InitialScatters", array(SHAPE, bytes(40))),
        "has 40 bytes for an array",
    )
    yield "array of length 0", raw_question("InitialScatters", array((3, 0))), "has 0 bytes for an array"
    yield "array of negative lengths", raw_question("InitialScatters", array((-3, -2), bytes(48))), "has 48 bytes"
    yield (
        "array of 65 dimensions",
        raw_question("InitialScatters", array((1,) * 65, bytes(8))),
        "has 8 bytes for an array",
    )
    never = {"type": "again", "hash": bytes(32)}
    yield "array never carried", raw_question("InitialScatters", never), "no query of this session carried"
    short = {"type": "again", "hash": bytes(31)}
    yield "hash too short", raw_question("InitialScatters", short), "no query of this session carried"
    yield "mean that is a number", raw_question("InitialScatters", 3), "a mean of another shape"
    yield "mean of another shape", asked(InitialScatters(ZERO.T.copy())), "a mean of another shape"
    yield "mean beyond V", asked(InitialScatters(beyond)), "a mean beyond the agreed largest value"
    yield "mean below -V", asked(InitialScatters(-beyond)), "a mean beyond the agreed largest value"
    yield "mean not finite", asked(InitialScatters(infinite)), "values that are not finite"
    yield "mean not a number", asked(InitialScatters(np.where(np.isinf(infinite), np.nan, 0.0))), "not finite"
    yield "mode that is not there", asked(ModeScatter(2, 1, ZERO, FACTORS, 0, False)), "a mode that streams do not have"
    yield (
        "mode that is no number",
        raw_question("ModeScatter", None, 1, mean, [one, two], 1, False),
        "a mode that streams",
    )
    yield "sweep 0", asked(ModeScatter(0, 0, ZERO, FACTORS, 1, False)), "a sweep beyond the agreed ones"
    yield "sweep beyond the agreed", asked(ModeScatter(0, 4, ZERO, FACTORS, 1, False)), "a sweep beyond the agreed ones"
    yield "first the asked mode", asked(ModeScatter(0, 1, ZERO, FACTORS, 0, False)), "a mode to contract first"
    odd = ModeScatter(0, 1, ZERO, FACTORS, 1, 1)
    yield "centring by a number", asked(odd), "a way of centring that there is not"
    yield "first missing", asked(ModeScatter(0, 1, ZERO, FACTORS, None, False)), "a mode to contract first"
    yield "factor too few", asked(Captured(ZERO, FACTORS[:1])), "another number of factors"
    yield "factor not orthonormal", asked(Captured(ZERO, turned)), "that is not orthonormal"
    yield "factor of zeros", asked(Captured(ZERO, (0 * FACTORS[0], FACTORS[1]))), "that is not orthonormal"
    yield "factor far too large", asked(Captured(ZERO, (1e200 * FACTORS[0], FACTORS[1]))), "that is not orthonormal"
    yield "factor not a number", asked(Captured(ZERO, (FACTORS[0] + np.nan, FACTORS[1]))), "not finite"
    yield "rank beyond the agreed", asked(Captured(ZERO, wide)), "with another rank than agreed"
    yield "factor of another length", asked(Captured(ZERO, (FACTORS[1], FACTORS[0]))), "of another shape"


def signed(body, coordinator, sid, round_=1, **changes):
    """A message with these bytes for a body, truly signed; `changes` before signing."""
    unsigned = msgspec.structs.replace(Envelope(VERSION, sid, 3, round_, body, b""), **changes)
    signature = coordinator.sign(unsigned.signed(hashlib.sha256(unsigned.body).digest()))
    return msgspec.msgpack.encode(msgspec.structs.replace(unsigned, signature=signature))


def damaged_messages(good, coordinator, sid):
    """Messages that nobody can be held to."""
    envelope = msgspec.msgpack.decode(good, type=Envelope)
    entries = msgspec.structs.astuple(envelope)

    def instead(**changes):
        return msgspec.msgpack.encode(msgspec.structs.replace(envelope, **changes))

    size = len(envelope.body)
    header = b"\xc5" + size.to_bytes(2, "big") if size >= 256 else b"\xc4" + bytes([size])
    place = good.index(header + envelope.body)
    wide = good[:place] + b"\xc6" + size.to_bytes(4, "big") + good[place + len(header) :]
    as_text = good[:place] + {0xC4: b"\xd9", 0xC5: b"\xda"}[header[0]] + good[place + 1 :]
    yield "nothing", b"", "no message"
    yield "truncated", good[:-1], "no message"
    yield "one byte more", good + b"\x00", "no message"
    yield "unknown field", msgspec.msgpack.encode([*entries, 0]), "no message"
    yield "field missing", msgspec.msgpack.encode(entries[:-1]), "no message"
    yield "map instead of array", msgspec.msgpack.encode(msgspec.structs.asdict(envelope)), "no message"
    yield "body as text", as_text, "no message"
    yield "body's length in four bytes", wide, "not written canonically"
    yield "version's number in two bytes", good[:1] + b"\xcc\x01" + good[2:], "not written canonically"
    yield "array's length in two bytes", b"\xdc\x00\x06" + good[1:], "not written canonically"
    yield "version 0", signed(envelope.body, coordinator, sid, version=0), "of version 0"
    yield "version 2", signed(envelope.body, coordinator, sid, version=2), "of version 2"
    yield "negative version", instead(version=-1), "of version -1"
    yield "another sender", instead(sender=0), "under another name"
    yield "negative sender", instead(sender=-1), "under another name"
    yield "negative round", instead(round=-1), "under another name"
    yield "session's name too short", instead(sid=envelope.sid[:-1]), "under another name"
    yield "signature too short", instead(signature=envelope.signature[:-1]), "under another name"
    yield "signature too long", instead(signature=envelope.signature + b"\x00"), "under another name"
    yield "wrong signature", instead(signature=bytes(64)), "signature is wrong"
    yield "another round", instead(round=envelope.round + 1), "signature is wrong"
    yield "another session", instead(sid=bytes(32)), "signature is wrong"
    yield "another body", instead(body=envelope.body + b"\x00"), "signature is wrong"
    oversized = seal_message(Close(total=b"", result=bytes(20_000)), sid=sid, sender=3, round_=1, identity=coordinator)
    yield "oversized", oversized, "where at most"


def bad_bodies(good):
    """Bodies that the coordinator signed: it is held to them."""
    body = msgspec.msgpack.decode(good, type=Envelope).body
    kind, query, total, hellos = msgspec.msgpack.decode(body)
    ask = [kind, query, total, hellos]
    yield "no body", b"", "cannot be read"
    yield "truncated", body[:-1], "cannot be read"
    yield "one byte more", body + b"\x00", "cannot be read"
    yield "unknown tag", msgspec.msgpack.encode(["Question", *ask[1:]]), "cannot be read"
    yield "no tag", msgspec.msgpack.encode(ask[1:]), "cannot be read"
    yield "unknown field", msgspec.msgpack.encode([*ask, 0]), "cannot be read"
    yield "field missing", msgspec.msgpack.encode(ask[:-1]), "cannot be read"
    yield "code that is no text", b"\x92\xa3End\xa2\xff\xff", "cannot be read"
    yield "array's length in two bytes", b"\xdc\x00\x04" + body[1:], "not written canonically"
    yield "a member's message", msgspec.msgpack.encode(["Reply", bytes(32), b""]), "does not belong there"
    yield "of another profile", msgspec.msgpack.encode(["Share", query, [], hellos]), "belongs to another profile"
    yield (
        "total before a question",
        msgspec.msgpack.encode([kind, query, bytes(112), hellos]),
        "before there was a question",
    )
    yield "no hellos", msgspec.msgpack.encode([kind, query, total, []]), "0 members said hello"
    yield "hello once more", msgspec.msgpack.encode([kind, query, total, [*hellos, hellos[0]]]), "4 members said hello"
    yield "hellos reordered", msgspec.msgpack.encode([kind, query, total, hellos[::-1]]), "not signed by the key agreed"
    yield "hello truncated", msgspec.msgpack.encode([kind, query, total, [*hellos[:2], hellos[2][:-1]]]), "not signed"
    big = [*hellos[:2], hellos[2] + bytes(1024)]
    yield "hello oversized", msgspec.msgpack.encode([kind, query, total, big]), "at most 1024"
    yield "leap over a round", body, "asked for round 2 after round 0"
    yield "another session's name", body, "names another session than the hellos give"


def bad_agreements(text):
    yield "not TOML", text + "\n[[", "cannot be read as TOML"
    yield "unknown key", "drop_outs = true\n" + text, "drop_outs"
    yield "no shape", text.replace("shape = [3, 2]", ""), "shape"
    yield "rank beyond the length", text.replace("ranks = [1, 1]", "ranks = [1, 3]"), "ranks"
    yield "V of 0", text.replace("largest_value = 8.0", "largest_value = 0.0"), "largest_value"
    yield "V that no bound can hold", text.replace("largest_value = 8.0", "largest_value = 1e200"), "largest_value"
    yield "two members", text[: text.index('"member-2"')], "allow_pair"
    yield "unknown profile", 'profile = "sealed"\n' + text, "profile"


def main():
    session = whole_session()
    agreement, _, coordinator = the_parties()
    sid, good = bytes.fromhex(session["sid"]), bytes.fromhex(session["steps"][1]["to all"])
    bad = []
    for name, text, says in bad_questions():
        bad.append({"name": name, "of": "question", "bytes": text.hex(), "refused by": "ProtocolError", "says": says})
    for name, text, says in damaged_messages(good, coordinator, sid):
        bad.append({"name": name, "of": "message", "bytes": text.hex(), "refused by": "Damaged", "says": says})
    for name, body, says in bad_bodies(good):
        named = bytes(32) if name == "another session's name" else sid
        text = signed(body, coordinator, named, 2 if name == "leap over a round" else 1)
        bad.append({"name": name, "of": "body", "bytes": text.hex(), "refused by": "ProtocolError", "says": says})
    for name, text, says in bad_agreements(agreement.text.decode()):
        bad.append({"name": name, "of": "agreement", "text": text, "refused by": "AgreementError", "says": says})
    own = {"functions": functions(), "session": session}
    for name, content in (("own", own), ("bad", bad)):
        (HERE / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
