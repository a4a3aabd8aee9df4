"""What the coordinator says and hears, as a generator of trips: hello, the study's queries one by one, close.

Each step yields what it asks of whom and is sent their signed answers. `coordinator` is the machine around it, which
knows of signatures, silence and time; here is only what is said, for profiles "secure" and "plain" (`_ask_sum`) and for
"paper" (`_ask_chain`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Mapping
from typing import Any

from fedmpca.crypto.ring import to_bytes
from fedmpca.errors import ProtocolError, RefusedError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.chain import ChainBasis, bases_of, mean_of, modes_of, psi_of
from fedmpca.protocol.messages import (
    NO_SESSION,
    Ask,
    Body,
    Boxes,
    Close,
    Closed,
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
)
from fedmpca.protocol.policy import REFUSALS
from fedmpca.protocol.questions import query_bytes
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import added, as_answer, context
from fedmpca.studies.queries import Captured, ModeScatter, StreamSums
from fedmpca.studies.study import Study

__all__ = ["Conversation"]

Trip = Generator[dict[int, Body], dict[int, Envelope], Any]


class Conversation:
    """One session's conversation. `trips` is run once; the other attributes say where it stands."""

    def __init__(self, agreement: Agreement, study: Study[Any], as_bytes: Callable[[Any], bytes], epoch: int) -> None:
        self.agreement = agreement
        self.result: Any = None
        self.round = 0
        self.title = "hello"
        self.kinds = ("", "")
        """Classes of the query that is being asked, and of the one before."""
        self._study = study
        self._as_bytes = as_bytes
        self._session = Session(agreement, epoch)
        self._hellos: tuple[bytes, ...] = ()
        self._total = b""

    @property
    def sid(self) -> bytes:
        """The session's name; hello has none yet."""
        return NO_SESSION if self.round == 0 else self._session.sid

    def trips(self) -> Trip:
        """The whole conversation."""
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
            self.kinds = (type(query).__name__, self.kinds[0])
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
        kinds, self.kinds = self.kinds, ("Captured", self.kinds[0])
        came = yield asks
        self.kinds = kinds
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
        self.kinds = ("", self.kinds[0])
        came = yield self._everyone(Close(total=self._total, result=result))
        digest = hashlib.sha256(result).digest()
        for number, closed in enumerate(self._bodies(came, Closed)):
            if closed.transcript != self._session.transcript or closed.result != digest:
                raise ProtocolError(f"{self.agreement.roster[number]} saw another conversation, or another result.")
