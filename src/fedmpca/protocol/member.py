"""A member: takes a request's bytes, gives a reply's bytes. What it has to compute from its streams it hands out as
work.

Each member enforces the agreement and its own policy by itself; nothing that the coordinator sends can lower them.
What it refuses it tells the coordinator by a fixed code; `reason` is for the person at home. Keys live in memory only
and are erased at the session's end, whatever that end is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedmpca.crypto.keys import Entropy, Identity, SessionKey
from fedmpca.crypto.ring import from_bytes, to_bytes
from fedmpca.errors import FedMPCAError, ProtocolError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.chain import ChainMember
from fedmpca.protocol.limits import largest_message
from fedmpca.protocol.messages import (
    NO_SESSION,
    Ask,
    Body,
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
    body_of,
    open_message,
    seal_message,
)
from fedmpca.protocol.policy import REFUSALS, EndedError, Policy
from fedmpca.protocol.questions import check_query, read_query
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import as_vector, check_total, context, hide, n_entries
from fedmpca.studies.queries import Answer

__all__ = ["Member", "Work"]

COORDINATOR = "The coordinator"


@dataclass(frozen=True)
class Work:
    """A query to be answered from the member's streams. Equal `text` is the same query, for whoever answers several."""

    query: Any
    text: bytes
    finish: Callable[[Answer], bytes | None]
    """Turns the answer into the reply's bytes, once; nothing where the session has ended meanwhile."""


class Member:
    """The member's machine. `receive` is its only door."""

    def __init__(
        self,
        agreement: Agreement,
        name: str,
        identity: Identity,
        *,
        n_assets: int,
        entropy: Entropy,
        policy: Policy | None = None,
        epoch: int = 0,
        in_process: bool = False,
    ) -> None:
        self.agreement = agreement
        self.name = name
        self.policy = policy or Policy()
        self.policy.check_agreement(agreement, identity.public, name, n_assets, in_process=in_process)
        self.number = agreement.roster.index(name)
        self.result: bytes | None = None
        self.reason: FedMPCAError | None = None
        """Why the session ended early: to be read at home."""
        self.dropped = 0
        """Messages that nobody could be held to."""
        self._identity = identity
        self._entropy = entropy
        self._session = Session(agreement, epoch)
        self._key = SessionKey(entropy)
        self._hello: bytes | None = None
        self._round = -1
        self._asked = b""
        self._answer: bytes | None = None
        self._secrets: dict[int, bytes] = {}
        self._before: tuple[Any, bytes] | None = None
        self._ended = False
        self._chain = ChainMember(agreement, self.number, self._session, self._key, entropy)

    def receive(self, text: bytes) -> bytes | Work | None:
        """A reply, work whose `finish` gives the reply, or nothing: a message that nobody can be held to."""
        try:
            largest = largest_message(self.agreement)
            n = self.agreement.n_members
            envelope, asked = open_message(text, key=self.agreement.key(n), sender=n, largest=largest)
        except Damaged:
            self.dropped += 1
            return None
        if envelope.round == self._round and asked == self._asked and envelope.sid == self._sid_of(envelope):
            return self._answer  # a repeat gets the same bytes, or nothing while they are being made
        if self._ended or self._is_stale(envelope):
            self.dropped += 1
            return None
        try:
            if envelope.round == self._round:
                raise ProtocolError(f"{COORDINATOR} asked a second, different question in round {envelope.round}.")
            self._asked, self._answer = asked, None
            return self._step(envelope)
        except FedMPCAError as error:
            return self._refuse(error, envelope.round)

    def _sid_of(self, envelope: Envelope) -> bytes:
        return NO_SESSION if envelope.round == 0 else self._session.sid

    def _is_stale(self, envelope: Envelope) -> bool:
        """Of another session, or of a round that is over: delivered late, or replayed."""
        opened = self._session.sid != NO_SESSION
        return envelope.round < self._round or (opened and envelope.sid != self._session.sid)

    def _step(self, envelope: Envelope) -> bytes | Work | None:
        body = body_of(envelope, (HelloAsk, Ask, Share, Pass, Close, End), COORDINATOR)
        if isinstance(body, End):
            raise EndedError(
                f"The coordinator ended the session ({body.code}): {REFUSALS.get(body.code, 'no result')}."
            )
        in_order = envelope.round == self._round + 1 or (self.agreement.profile == "paper" and self._round >= 0)
        is_hello = envelope.round == 0 and envelope.sid == NO_SESSION
        if not in_order or is_hello != isinstance(body, HelloAsk):
            raise ProtocolError(f"{COORDINATOR} asked for round {envelope.round} after round {self._round}.")
        self.policy.check_round(envelope.round, self.agreement)
        self._round = envelope.round
        if isinstance(body, HelloAsk):
            return self._say_hello(body)
        if self._session.sid == NO_SESSION:
            self._open(body, envelope)
        if isinstance(body, Close):
            return self._close(body)
        if self.agreement.profile == "paper":
            return self._chain_step(body)
        if not isinstance(body, Ask):
            raise ProtocolError(f"{COORDINATOR} sent a {type(body).__name__}, which belongs to another profile.")
        return self._ask(body)

    def _say_hello(self, ask: HelloAsk) -> bytes:
        if ask.agreement != self.agreement.hash or ask.epoch != self._session.epoch:
            raise ProtocolError(f"{COORDINATOR} holds another agreement: compare the files' hashes by telephone.")
        hello = Hello(
            agreement=self.agreement.hash,
            epoch=self._session.epoch,
            transcript=self._session.transcript,
            key=self._key.public,
        )
        self._hello = self._reply(hello)
        return self._hello

    def _open(self, body: Body, envelope: Envelope) -> None:
        """Everyone's hello came with the first question: the session's name, and a secret with each other member."""
        hellos = getattr(body, "hellos", ())
        self._session.open(hellos)
        if hellos[self.number] != self._hello:
            raise ProtocolError("My own hello came back altered: somebody speaks in my name.")
        if envelope.sid != self._session.sid:
            raise ProtocolError(f"{COORDINATOR} names another session than the hellos give.")
        if self.agreement.profile == "secure":
            keys = enumerate(self._session.keys)
            self._secrets = {other: self._key.shared_with(key) for other, key in keys if other != self.number}

    def _ask(self, ask: Ask) -> Work:
        self._hear(ask.total)
        query = read_query(ask.query, self._session.known)
        check_query(query, self.agreement, self._session.known)
        self.policy.check_query(query)
        ctx = context(self._session.sid, self._round, ask.query, self._session.transcript)
        self._before = (query, ask.query)
        round_ = self._round

        def answered(answer: Answer) -> Body:
            y = as_vector(query, answer, self.agreement)
            if self.agreement.profile == "secure":
                if len(self._secrets) != self.agreement.n_members - 1:
                    raise ProtocolError("The secrets shared with the other members are gone: nothing is sent unmasked.")
                hide(y, self.number, self._secrets, self._session.sid, round_, ctx)
            return Reply(ctx=ctx, y=to_bytes(y))

        return self._work(query, ask.query, answered)

    def _work(self, query: Any, text: bytes, answered: Callable[[Answer], Body]) -> Work:
        """The query as work, whose reply is made once, and only while its round is still the one under way."""
        round_ = self._round

        def finish(answer: Answer) -> bytes | None:
            if self._ended or self._round != round_ or self._answer is not None:
                return None  # the session went on, or ended, while this was computed: its keys may be gone
            try:
                return self._reply(answered(answer))
            except FedMPCAError as error:
                return self._refuse(error, round_)

        return Work(query, text, finish)

    def _hear(self, total: bytes) -> None:
        """The total of the query before, which goes into the transcript."""
        if self._before is None:
            if total:
                raise ProtocolError(f"{COORDINATOR} sent a total before there was a question.")
            return
        query, text = self._before
        check_total(query, from_bytes(total, n_entries(query, self.agreement)), self.agreement)
        self._session.heard(text, total)

    def _chain_step(self, body: Body) -> bytes | Work:
        said = self._chain.step(body, self._round, self.policy)
        if isinstance(said, Body):
            return self._reply(said)
        return self._work(*said)

    def _close(self, close: Close) -> bytes:
        if self.agreement.profile != "paper":
            self._hear(close.total)
        self.result = close.result
        closed = Closed(transcript=self._session.transcript, result=hashlib.sha256(close.result).digest())
        reply = self._reply(closed)
        self._end()
        return reply

    def _refuse(self, error: FedMPCAError, round_: int) -> bytes:
        """End the session here, keep the reason at home, and tell the code."""
        self.reason = error
        self._round = max(round_, 0)
        reply = self._reply(Refusal(code=self.policy.code_of(error)))
        self._end()
        return reply

    def _reply(self, body: Body) -> bytes:
        sid = NO_SESSION if isinstance(body, Hello) else self._session.sid
        self._answer = seal_message(body, sid=sid, sender=self.number, round_=self._round, identity=self._identity)
        return self._answer

    def _end(self) -> None:
        self._ended = True
        self._secrets = {}
        self._key.erase()
