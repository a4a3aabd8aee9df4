"""Joining by sums: profiles "secure" and "plain".

Each member's answer is a vector of the ring, its parts behind each other, and one more entry that is 0. Under
"secure" every pair of members adds a mask to one of their vectors and subtracts it from the other: what travels is
uniform noise, and the sum over all of them, and only that, is the sum of the answers. The masks' keys are bound to
the question as each member received it (ctx): had two been asked different questions, their masks would not cancel,
and the last entry of the total would not be 0. "plain" is the same without masks, so masks change no bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmpca.crypto.keys import enc, hash_of, mask_key
from fedmpca.crypto.masks import mask
from fedmpca.crypto.ring import add, bound, decode, encode, from_bytes, within
from fedmpca.errors import ProtocolError
from fedmpca.protocol.agreement import Agreement
from fedmpca.studies.queries import Answer, Query

__all__ = ["added", "as_answer", "as_vector", "check_total", "context", "hide", "n_entries"]

Ring = NDArray[np.uint64]


def context(sid: bytes, round_: int, query: bytes, transcript: bytes) -> bytes:
    """ctx: exactly this question, in this session, after exactly this conversation."""
    return hash_of("ctx", sid, round_, hash_of("query", query), transcript)


def n_entries(query: Query, agreement: Agreement) -> int:
    """Entries of a vector that answers the query, the zero among them."""
    return sum(query.parts(agreement.shape)) + 1


def as_vector(query: Query, answer: Answer, agreement: Agreement) -> Ring:
    """Run by a member: its answer as ring elements, a zero last."""
    y = np.zeros((n_entries(query, agreement), 2), np.uint64)
    start = 0
    for part, exponent in zip(answer, _exponents(query, agreement), strict=True):
        encode(part, exponent, agreement.n_members, out=y[start : start + len(part)])
        start += len(part)
    return y


def as_answer(query: Query, total: Ring, agreement: Agreement) -> Answer:
    """The total's parts as numbers, each the float64 nearest to the exact sum."""
    ends = np.cumsum(query.parts(agreement.shape))
    parts = np.split(total[:-1], ends[:-1])
    return tuple(decode(part, e) for part, e in zip(parts, _exponents(query, agreement), strict=True))


def hide(y: Ring, number: int, secrets: Mapping[int, bytes], sid: bytes, round_: int, ctx: bytes) -> None:
    """Run by a member: add the masks shared with members of higher number, subtract those shared with lower ones."""
    for other, shared in secrets.items():
        info = enc("mask", round_, ctx, min(number, other), max(number, other))
        mask(y, mask_key(shared, sid, info), negative=other < number)


def added(query: Query, replies: Sequence[Any], ctx: bytes, agreement: Agreement) -> Ring:
    """The sum of all members' vectors, where all answered the same question and it comes out as a sum can."""
    for number, reply in enumerate(replies):
        if reply.ctx != ctx:
            raise ProtocolError(
                f"{agreement.roster[number]} answered another question than it was asked in this round, or after "
                "another conversation. Somebody between you changed it: compare keys and agreements by telephone."
            )
    total = np.zeros((n_entries(query, agreement), 2), np.uint64)
    for reply in replies:
        add(total, from_bytes(reply.y, len(total)))
    check_total(query, total, agreement)
    return total


def check_total(query: Query, total: Ring, agreement: Agreement) -> None:
    """Refuse a total that no sum of honest answers has."""
    if total[-1].any():
        raise ProtocolError(
            "The masks of this round did not cancel: not everybody answered the same question, or a vector was "
            "changed. Nothing of the total means anything; who did it cannot be told."
        )
    ends = np.cumsum(query.parts(agreement.shape))
    parts = np.split(total[:-1], ends[:-1])
    if not all(within(part, e) for part, e in zip(parts, _exponents(query, agreement), strict=True)):
        raise ProtocolError(
            "The total of this round is beyond what the agreed bounds allow: somebody answered falsely."
        )


def _exponents(query: Query, agreement: Agreement) -> list[int]:
    return [bound(largest) for largest in query.bounds(agreement.shape, agreement.bounds)]
