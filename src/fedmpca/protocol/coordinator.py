"""The coordinator: runs the study, asks, adds, and keeps the record. It takes replies' bytes and gives requests' bytes.

What is said is in `conversation`. The machine around it signs, drops what nobody can be held to, asks again, and ends
the session where a member is silent for longer than agreed. Time is passed in. It never raises: how a session ended
is in `error` or `result`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedmpca.crypto.keys import Identity
from fedmpca.errors import FedMPCAError, ProtocolError, TooFewMembersError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.conversation import Conversation
from fedmpca.protocol.disclosures import COORDINATOR, Disclosure, disclosure
from fedmpca.protocol.limits import largest_message
from fedmpca.protocol.messages import (
    NO_SESSION,
    Body,
    Boxes,
    Damaged,
    End,
    Envelope,
    body_of,
    open_message,
    seal_message,
)
from fedmpca.studies.study import Study

__all__ = ["Coordinator"]

Outgoing = dict[int, bytes]
"""Messages to send, by the number of the member that gets each."""
RETRIES = 10
"""How often a silent member is asked again within the agreed time."""


@dataclass
class _Waiting:
    """The trip in flight: what was asked of whom, and what came back."""

    asked: Outgoing
    since: float
    asked_at: float
    came: dict[int, Envelope] = field(default_factory=dict)

    @property
    def silent(self) -> list[int]:
        return [number for number in self.asked if number not in self.came]


class Coordinator:
    """The coordinator's machine: `start`, then `receive` for each message that comes and `tick` while none does."""

    def __init__(
        self,
        agreement: Agreement,
        identity: Identity,
        study: Study[Any],
        *,
        as_bytes: Callable[[Any], bytes] = lambda result: b"",
        epoch: int = 0,
    ) -> None:
        self.agreement = agreement
        self.error: FedMPCAError | None = None
        self.done = False
        self.dropped = 0
        """Messages that nobody could be held to."""
        self.disclosures: list[Disclosure] = []
        self._identity = identity
        self._said = Conversation(agreement, study, as_bytes, epoch)
        self._trips = self._said.trips()
        self._waiting: _Waiting | None = None
        self._largest = largest_message(agreement)

    @property
    def result(self) -> Any:
        """What the study found."""
        return self._said.result

    @property
    def round(self) -> int:
        """The trip that is under way."""
        return self._said.round

    def start(self, now: float) -> Outgoing:
        """The first messages."""
        return self._advance({}, now)

    def receive(self, number: int, text: bytes, now: float) -> Outgoing:
        """What to send after a message came from this member; most often nothing, until the last one of a trip."""
        waiting = self._waiting
        if self.done or waiting is None:
            return {}
        try:
            key = self.agreement.key(number)
            envelope, _ = open_message(text, key=key, sender=number, largest=self._largest)
        except Damaged:
            self.dropped += 1
            return {}
        # A member that refuses the first question may not know the session's name yet.
        sids = (self._said.sid, NO_SESSION) if self.round == 1 else (self._said.sid,)
        if envelope.round != self.round or envelope.sid not in sids or number not in waiting.asked:
            self.dropped += 1  # of a round that is over, or of another session
            return {}
        if number in waiting.came:
            if waiting.came[number].body != envelope.body:
                who = self.agreement.roster[number]
                return self._fail(ProtocolError(f"{who} signed two different answers in round {self.round}."))
            return {}
        try:
            body = body_of(envelope, Body, self.agreement.roster[number])
        except ProtocolError as error:
            return self._fail(error)
        waiting.came[number] = envelope
        self._note(body, self.agreement.roster[number], self._readers(body), len(text))
        return {} if waiting.silent else self._advance(waiting.came, now)

    def tick(self, now: float) -> Outgoing:
        """Ask silent members again; end the session where one was silent for too long."""
        waiting = self._waiting
        if self.done or waiting is None:
            return {}
        if now - waiting.since >= self.agreement.wait_s:
            names = ", ".join(self.agreement.roster[number] for number in waiting.silent)
            return self._fail(
                TooFewMembersError(
                    f"{names} did not answer for {now - waiting.since:g} s in round {self.round} "
                    f"({self._said.title}). The session has ended; nothing was summed over the others. Begin anew when "
                    "all are there, with the same members."
                )
            )
        if now - waiting.asked_at >= self.agreement.wait_s / RETRIES:
            waiting.asked_at = now
            return {number: waiting.asked[number] for number in waiting.silent}
        return {}

    @property
    def silent_members(self) -> list[str]:
        """Who is awaited now."""
        return [] if self._waiting is None else [self.agreement.roster[number] for number in self._waiting.silent]

    def _advance(self, came: Mapping[int, Envelope], now: float) -> Outgoing:
        try:
            bodies = self._trips.send(dict(came)) if came else next(self._trips)
        except StopIteration:
            self.done, self._waiting = True, None
            return {}
        except FedMPCAError as error:
            return self._fail(error)
        sealed = {
            id(body): self._seal(body) for body in {id(body): body for body in bodies.values()}.values()
        }  # what all are asked is sealed once
        asked = {number: sealed[id(body)] for number, body in bodies.items()}
        for number, body in bodies.items():
            self._note(body, COORDINATOR, self.agreement.roster[number], len(asked[number]))
        self._waiting = _Waiting(asked, now, now)
        return asked

    def _fail(self, error: FedMPCAError) -> Outgoing:
        """End the session, for everybody."""
        self.error, self.done, self._waiting = error, True, None
        self._trips.close()
        self._said.round += 1
        end = self._seal(End(code="silent" if isinstance(error, TooFewMembersError) else "ended"))
        return dict.fromkeys(range(self.agreement.n_members), end)

    def _seal(self, body: Body) -> bytes:
        n = self.agreement.n_members
        return seal_message(body, sid=self._said.sid, sender=n, round_=self.round, identity=self._identity)

    def _readers(self, body: Body) -> str:
        """Who can read a member's message: the coordinator, who carries it; sealed boxes, those they are for."""
        if not isinstance(body, Boxes):
            return COORDINATOR
        pairs = zip(self.agreement.roster, body.boxes, strict=False)
        return ", ".join(name for name, box in pairs if box)

    def _note(self, body: Body, sender: str, seen_by: str, n_bytes: int) -> None:
        """A row of the record."""
        kind, before = self._said.kinds
        row = disclosure(
            self.agreement.profile,
            body,
            round_=self.round,
            query=self._said.title,
            kind=kind,
            before=before,
            sender=sender,
            seen_by=seen_by,
            n_bytes=n_bytes,
        )
        self.disclosures.append(row)
