"""The coordinator: runs the study, asks, adds, and keeps the record. It takes replies' bytes and gives requests' bytes.

A session is one conversation, written below as a generator of trips: hello, the study's queries one after the other,
close. The machine around it signs, drops what nobody can be held to, asks again, and ends the session where a member is
silent for longer than agreed. Time is passed in. It never raises: how a session ended is in `error` or `result`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedmpca.crypto.keys import Identity
from fedmpca.crypto.ring import to_bytes
from fedmpca.errors import FedMPCAError, ProtocolError, RefusedError, TooFewMembersError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.chain import ChainBasis, bases_of, mean_of, modes_of, psi_of
from fedmpca.protocol.disclosures import COORDINATOR, Disclosure, disclosure
from fedmpca.protocol.limits import largest_message
from fedmpca.protocol.messages import (
    NO_SESSION,
    Ask,
    Body,
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
    envelope_bytes,
    open_message,
    seal_message,
)
from fedmpca.protocol.policy import REFUSALS
from fedmpca.protocol.questions import query_bytes
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import added, as_answer, context
from fedmpca.studies.queries import Captured, ModeScatter, StreamSums
from fedmpca.studies.study import Study

__all__ = ["Coordinator"]

Outgoing = dict[int, bytes]
"""Messages to send, by the number of the member that gets each."""
Trip = Generator[dict[int, Body], dict[int, Envelope], Any]
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
        self.result: Any = None
        self.error: FedMPCAError | None = None
        self.done = False
        self.round = 0
        self.title = "hello"
        self.dropped = 0
        self.disclosures: list[Disclosure] = []
        self._identity = identity
        self._study = study
        self._as_bytes = as_bytes
        self._session = Session(agreement, epoch)
        self._hellos: tuple[bytes, ...] = ()
        self._total = b""
        self._kinds = ("", "")
        self._conversation = self._converse()
        self._waiting: _Waiting | None = None
        self._largest = largest_message(agreement)

    # The machine

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
        sids = (self._sid, NO_SESSION) if self.round == 1 else (self._sid,)
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
        self._note(body, self.agreement.roster[number], COORDINATOR, len(text))
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
                    f"{names} did not answer for {now - waiting.since:g} s in round {self.round} ({self.title}). The "
                    "session has ended; nothing was summed over the others. Begin anew when all are there, with the "
                    "same members."
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

    @property
    def _sid(self) -> bytes:
        return NO_SESSION if self.round == 0 else self._session.sid

    def _advance(self, came: Mapping[int, Envelope], now: float) -> Outgoing:
        try:
            bodies = self._conversation.send(dict(came)) if came else next(self._conversation)
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
        self._conversation.close()
        self.round += 1
        end = self._seal(End(code="silent" if isinstance(error, TooFewMembersError) else "ended"))
        return dict.fromkeys(range(self.agreement.n_members), end)

    def _seal(self, body: Body) -> bytes:
        n = self.agreement.n_members
        return seal_message(body, sid=self._sid, sender=n, round_=self.round, identity=self._identity)

    def _note(self, body: Body, sender: str, seen_by: str, n_bytes: int) -> None:
        """A row of the record."""
        kind, before = self._kinds
        row = disclosure(
            self.agreement.profile,
            body,
            round_=self.round,
            query=self.title,
            kind=kind,
            before=before,
            sender=sender,
            seen_by=seen_by,
            n_bytes=n_bytes,
        )
        self.disclosures.append(row)

    # The conversation

    def _converse(self) -> Trip:
        yield from self._hello()
        ask = self._ask_chain if self.agreement.profile == "paper" else self._ask_sum
        told: Any = None
        while True:
            try:
                query = self._study.send(told)
            except StopIteration as end:
                self.result = end.value
                break
            self.title = query.title
            self._kinds = (type(query).__name__, self._kinds[0])
            told = yield from ask(query)
        yield from self._close(self._as_bytes(self.result))

    def _hello(self) -> Trip:
        ask = HelloAsk(agreement=self.agreement.hash, epoch=self._session.epoch)
        came = yield dict.fromkeys(range(self.agreement.n_members), ask)
        self._bodies(came, Hello)
        self._hellos = tuple(envelope_bytes(came[number]) for number in range(self.agreement.n_members))
        self._session.open(self._hellos)

    def _bodies(self, came: Mapping[int, Envelope], kind: type[Any]) -> list[Any]:
        """The bodies by number; a refusal ends the session."""
        found = []
        for number, envelope in sorted(came.items()):
            name = self.agreement.roster[number]
            body = body_of(envelope, (kind, Refusal), name)
            if isinstance(body, Refusal):
                meaning = REFUSALS.get(body.code, "its code is not known to this version")
                raise RefusedError(f"{name} refused in round {envelope.round} ({body.code}): {meaning}.")
            found.append(body)
        return found

    def _everyone(self, body: Body) -> dict[int, Body]:
        self.round += 1
        return dict.fromkeys(range(self.agreement.n_members), body)

    def _first_hellos(self) -> tuple[bytes, ...]:
        """Everyone's hello, once."""
        hellos, self._hellos = self._hellos, ()
        return hellos

    def _ask_sum(self, query: Any) -> Trip:
        text = query_bytes(query, self._session.known)
        asks = self._everyone(Ask(query=text, total=self._total, hellos=self._first_hellos()))
        ctx = context(self._session.sid, self.round, text, self._session.transcript)
        came = yield asks
        total = added(query, self._bodies(came, Reply), ctx, self.agreement)
        self._total = to_bytes(total)
        self._session.heard(text, self._total)
        return query.conclude(as_answer(query, total, self.agreement))

    def _ask_chain(self, query: Any) -> Trip:
        if isinstance(query, StreamSums):
            return (yield from self._ask_mean(query))
        psi_before = psi_after = None
        if isinstance(query, ModeScatter) and query.sweep == 1 and query.mode == 0:
            psi_before = yield from self._ask_psi(query, query.factors)
        bases = yield from self._ask_bases(query)
        if not isinstance(query, ModeScatter):
            return bases
        (basis,) = bases
        if query.mode == len(self.agreement.shape) - 1:
            factors = (*query.factors[:-1], basis.leading(query.factors[-1].shape[1]))
            psi_after = yield from self._ask_psi(query, factors)
        return ChainBasis(basis.values, basis.vectors, psi_before, psi_after)

    def _ask_mean(self, query: StreamSums) -> Trip:
        """Algorithm 2: masks between the members, then the masked means."""
        text = query_bytes(query, self._session.known)
        came = yield self._everyone(Share(query=text, boxes=(), hellos=self._first_hellos()))
        drawn = [body.boxes for body in self._bodies(came, Boxes)]
        n = self.agreement.n_members
        if any(len(boxes) != n for boxes in drawn):
            raise ProtocolError("A member drew masks for another number of members than there are.")
        self.round += 1
        shares = {
            number: Share(query=text, boxes=tuple(boxes[number] for boxes in drawn), hellos=()) for number in range(n)
        }
        ctx = context(self._session.sid, self.round, text, self._session.transcript)
        came = yield dict(shares)
        replies = self._values(came, ctx)
        self._session.heard(text, b"")
        return query.conclude(mean_of(replies, self.agreement))

    def _ask_bases(self, query: Any) -> Trip:
        """Algorithms 3 and 4: from member to member; the last one tells."""
        text = query_bytes(query, self._session.known)
        box, last = b"", self.agreement.n_members - 1
        for number in range(last + 1):
            self.round += 1
            ctx = context(self._session.sid, self.round, text, self._session.transcript)
            came = yield {number: Pass(query=text, box=box, last=number == last)}
            if number < last:
                (body,) = self._bodies(came, Boxes)
                box = body.boxes[number + 1] if len(body.boxes) == last + 1 else b""
        (values,) = self._values(came, ctx)
        self._session.heard(text, b"")
        return bases_of(values.numbers, modes_of(query), self.agreement, self.agreement.roster[last])

    def _ask_psi(self, query: ModeScatter, factors: tuple[Any, ...]) -> Trip:
        """Algorithm 5: each member's own scatter of its features, added by the coordinator."""
        captured = Captured(query.mean, tuple(factors))
        text = query_bytes(captured, self._session.known)
        asks = self._everyone(Share(query=text, boxes=(), hellos=()))
        ctx = context(self._session.sid, self.round, text, self._session.transcript)
        kinds, self._kinds = self._kinds, ("Captured", self._kinds[0])
        came = yield asks
        self._kinds = kinds
        replies = self._values(came, ctx)
        self._session.heard(text, b"")
        return captured.conclude(psi_of(replies, self.agreement))

    def _values(self, came: Mapping[int, Envelope], ctx: bytes) -> list[Any]:
        bodies = self._bodies(came, Values)
        if any(body.ctx != ctx for body in bodies):
            raise ProtocolError(f"Somebody answered another question than was asked in round {self.round}.")
        return bodies

    def _close(self, result: bytes) -> Trip:
        self.title = "close"
        self._kinds = ("", self._kinds[0])
        came = yield self._everyone(Close(total=self._total, result=result))
        digest = hashlib.sha256(result).digest()
        for number, closed in enumerate(self._bodies(came, Closed)):
            if closed.transcript != self._session.transcript or closed.result != digest:
                raise ProtocolError(f"{self.agreement.roster[number]} saw another conversation, or another result.")
