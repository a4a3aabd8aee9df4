"""What is on the wire: canonical, versioned, size-checked, signed.

A message is an envelope around a body. The signature covers a label, the session, the sender, the round and the hash of
the whole body; hello messages are signed with zeros for the session and round 0. Reading trusts nothing: a message that
is too large, not canonical, of another version or not signed by its sender is `Damaged`, which the machines drop and
count. It ends nothing and accuses nobody, since anybody on the way could have made it.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec

from fedmpca.crypto.keys import HASH_BYTES, SIGNATURE_BYTES, Identity, enc, verify
from fedmpca.errors import ProtocolError

__all__ = [
    "NO_SESSION",
    "UNREADABLE",
    "VERSION",
    "Ask",
    "Body",
    "Boxes",
    "Close",
    "Closed",
    "Damaged",
    "End",
    "Envelope",
    "Hello",
    "HelloAsk",
    "Numbers",
    "Pass",
    "Refusal",
    "Reply",
    "Share",
    "Values",
    "body_of",
    "envelope_bytes",
    "open_message",
    "seal_message",
]

VERSION = 1
NO_SESSION = bytes(HASH_BYTES)
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding bytes of a stranger can raise (UnicodeDecodeError is a ValueError)."""


class Damaged(Exception):  # noqa: N818 - it accuses nobody
    """A message that nobody can be held to. It is dropped and counted."""


class Body(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=True, kw_only=True):
    """What a message says."""


class HelloAsk(Body, frozen=True):
    """Coordinator: who is there, for this agreement and epoch?"""

    agreement: bytes
    epoch: int


class Hello(Body, frozen=True):
    """Member: I hold this agreement, stand at this transcript, and my key for this session is this."""

    agreement: bytes
    epoch: int
    transcript: bytes
    key: bytes


class Ask(Body, frozen=True):
    """Coordinator: the query, and the total of the query before. The first one has everyone's hello."""

    query: bytes
    total: bytes
    hellos: tuple[bytes, ...]


class Reply(Body, frozen=True):
    """Member: my answer to exactly the question behind `ctx`, as a ring vector."""

    ctx: bytes
    y: bytes


class Share(Body, frozen=True):
    """Coordinator, paper: make masks for the others (Algorithm 2), or hand these on. One box for each other member."""

    query: bytes
    boxes: tuple[bytes, ...]
    hellos: tuple[bytes, ...]


class Numbers(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An array of float64, little-endian, in C order."""

    shape: tuple[int, ...]
    data: bytes


class Values(Body, frozen=True):
    """Member, paper: numbers as they are, for exactly the question behind `ctx`."""

    ctx: bytes
    numbers: tuple[Numbers, ...]


class Boxes(Body, frozen=True):
    """Member, paper: a sealed box for each member, an empty one for itself."""

    boxes: tuple[bytes, ...]


class Pass(Body, frozen=True):
    """Coordinator, paper: the query, and what the member before you sealed for you (Algorithms 3 and 4)."""

    query: bytes
    box: bytes
    last: bool


class Refusal(Body, frozen=True):
    """Member: I do not answer, by the rule of this code. The reason is told at home."""

    code: str


class Close(Body, frozen=True):
    """Coordinator: that was the last total, and this is the result."""

    total: bytes
    result: bytes


class Closed(Body, frozen=True):
    """Member: this was the session as I saw it, and the result that I received."""

    transcript: bytes
    result: bytes


class End(Body, frozen=True):
    """Coordinator: the session ends without a result, for the reason of this code."""

    code: str


Bodies = HelloAsk | Hello | Ask | Reply | Share | Boxes | Pass | Values | Refusal | Close | Closed | End


class Envelope(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A body with who says it, where in which session, and the signature over all of it."""

    version: int
    sid: bytes
    sender: int
    round: int
    body: bytes
    signature: bytes

    def signed(self, digest: bytes) -> bytes:
        """The text that is signed; `digest` is the body's SHA-256."""
        return enc("message", self.version, self.sid, self.sender, self.round, digest)


_encoder = msgspec.msgpack.Encoder()
_envelopes = msgspec.msgpack.Decoder(Envelope)
_bodies = msgspec.msgpack.Decoder(Bodies)


def seal_message(body: Body, *, sid: bytes, sender: int, round_: int, identity: Identity) -> bytes:
    """The message's bytes, signed."""
    unsigned = Envelope(VERSION, sid, sender, round_, _encoder.encode(body), b"")
    signature = identity.sign(unsigned.signed(hashlib.sha256(unsigned.body).digest()))
    return _encoder.encode(msgspec.structs.replace(unsigned, signature=signature))


def envelope_bytes(envelope: Envelope) -> bytes:
    """The message as it came: reading is canonical."""
    return _encoder.encode(envelope)


def open_message(text: bytes, *, key: bytes, sender: int, largest: int) -> tuple[Envelope, bytes]:
    """The envelope, where its sender signed it, and its body's SHA-256. The body is still unread."""
    if len(text) > largest:
        raise Damaged(f"a message of {len(text)} bytes, where at most {largest} were agreed")
    try:
        envelope = _envelopes.decode(text)
    except UNREADABLE as error:
        raise Damaged(f"no message: {error}") from error
    if not _is_canonical(text, envelope):
        raise Damaged("a message that is not written canonically")
    if envelope.version != VERSION:
        raise Damaged(f"a message of version {envelope.version}, where this is version {VERSION}")
    sizes = len(envelope.sid) == HASH_BYTES and len(envelope.signature) == SIGNATURE_BYTES and envelope.round >= 0
    if envelope.sender != sender or not sizes:
        raise Damaged("a message under another name")
    digest = hashlib.sha256(envelope.body).digest()
    try:
        verify(key, envelope.signed(digest), envelope.signature)
    except ProtocolError as error:
        raise Damaged("a message whose signature is wrong") from error
    return envelope, digest


def _is_canonical(text: bytes, envelope: Envelope) -> bool:
    """Whether the message is what writing the envelope gives, found without writing its body, which may be large.

    Beside the body, which stands as it is, it is the bytes of an envelope with an empty one. The body's own header is
    the shortest that its length allows: any other is longer.
    """
    empty = _encoder.encode(msgspec.structs.replace(envelope, body=b""))
    after = _encoder.encode(envelope.signature)
    before = empty[: len(empty) - len(after) - 2]
    n_header = next(size for size, most in ((2, 2**8), (3, 2**16), (5, 2**32)) if len(envelope.body) < most)
    n_bytes = len(before) + n_header + len(envelope.body) + len(after)
    return len(text) == n_bytes and text.startswith(before) and text.endswith(after)


B = TypeVar("B", bound=Body)


def body_of(envelope: Envelope, kind: type[B] | tuple[type[B], ...], who: str) -> B:
    """The body, where it is of this kind. It is signed: what is wrong with it is its sender's doing."""
    try:
        body: Any = _bodies.decode(envelope.body)
    except UNREADABLE as error:
        raise ProtocolError(f"{who} signed a message in round {envelope.round} that cannot be read.") from error
    if _encoder.encode(body) != envelope.body:
        raise ProtocolError(f"{who} signed a message in round {envelope.round} that is not written canonically.")
    if not isinstance(body, kind):
        raise ProtocolError(
            f"{who} sent a {type(body).__name__} in round {envelope.round}, which does not belong there."
        )
    return body
