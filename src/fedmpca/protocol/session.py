"""What all parties of a session know alike: who is there with which key, the session's name, and what was said so
far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fedmpca.crypto.keys import hash_of
from fedmpca.errors import ProtocolError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.messages import NO_SESSION, VERSION, Damaged, Hello, body_of, open_message
from fedmpca.protocol.questions import Arrays

__all__ = ["HELLO_BYTES", "Session"]

HELLO_BYTES = 1024
"""More than any hello has."""


@dataclass
class Session:
    """The common state. `open` is called once, with everyone's hello; `heard` after every total."""

    agreement: Agreement
    epoch: int = 0
    sid: bytes = NO_SESSION
    keys: tuple[bytes, ...] = ()
    """X25519 keys of this session, by number."""
    known: Arrays = field(default_factory=Arrays)
    transcript: bytes = b""

    def __post_init__(self) -> None:
        self.transcript = self.transcript or hash_of("transcript", self.agreement.hash)

    def open(self, hellos: Sequence[bytes]) -> None:
        """Take the hellos of exactly the roster, each signed by its member, none with another's key."""
        roster = self.agreement.roster
        if len(hellos) != len(roster):
            raise ProtocolError(f"{len(hellos)} members said hello, and the agreement names {len(roster)}.")
        keys = tuple(self._key(number, text) for number, text in enumerate(hellos))
        for number, key in enumerate(keys):
            if key in keys[:number]:
                raise ProtocolError(
                    f"{roster[number]} and {roster[keys.index(key)]} came with the same session key: one of them is "
                    "the other's echo."
                )
        self.keys = keys
        numbered = [item for number, key in enumerate(keys) for item in (number, key)]
        self.sid = hash_of("sid", VERSION, self.agreement.hash, self.epoch, self.transcript, *numbered)

    def _key(self, number: int, text: bytes) -> bytes:
        name = self.agreement.roster[number]
        try:
            envelope, _ = open_message(text, key=self.agreement.key(number), sender=number, largest=HELLO_BYTES)
        except Damaged as damaged:
            raise ProtocolError(f"The hello of {name} was not signed by the key agreed for it: {damaged}.") from damaged
        hello = body_of(envelope, Hello, name)
        if hello.agreement != self.agreement.hash:
            raise ProtocolError(f"{name} holds another agreement: compare the files' hashes by telephone.")
        if envelope.sid != NO_SESSION or envelope.round != 0 or hello.epoch != self.epoch:
            raise ProtocolError(f"The hello of {name} belongs to another session: it was replayed.")
        if hello.transcript != self.transcript:
            raise ProtocolError(f"{name} remembers another conversation than this one.")
        return hello.key

    def heard(self, query: bytes, total: bytes) -> None:
        """Add a query and its total to what was said."""
        self.transcript = hash_of("transcript", self.transcript, query, total)
