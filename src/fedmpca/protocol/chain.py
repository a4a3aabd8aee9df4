"""Joining as the paper does: profile "paper" (Algorithms 2 to 5, their slips mended), for streams of any order.

The mean: each member draws a random tensor for each other member (Algorithm 2), masks its local mean by the
differences, and the coordinator takes the mean weighted by the numbers of assets. A basis: member after member merges
its own columns into the basis of those before it (Algorithms 3 and 4), by the decomposition of [U s, B]; the last one
truncates, and tells the coordinator vectors and singular values. Psi: each member's own (Algorithm 5), summed by the
coordinator.

What the members send each other is sealed (HPKE), so the coordinator, who carries it, cannot read it. What this profile
does not protect: U and s that are handed on are the scatter of all members before, in full, and the masks are real
numbers, which hide only as far as they are large. It is here for fidelity, and for comparison with "secure".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedmpca.crypto.keys import Entropy, SessionKey, enc, seal_box
from fedmpca.errors import ProtocolError
from fedmpca.numerics.subspaces import Basis, absorb, basis_of_scatter, smallest_rank
from fedmpca.numerics.tensors import symmetric
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.messages import UNREADABLE, Body, Boxes, Numbers, Pass, Share, Values
from fedmpca.protocol.numbers import array_of, numbers_of
from fedmpca.protocol.policy import Policy
from fedmpca.protocol.questions import check_query, read_query
from fedmpca.protocol.session import Session
from fedmpca.protocol.sums import context
from fedmpca.studies.queries import Answer, Captured, InitialScatters, ModeScatter, StreamSums

__all__ = ["ChainBasis", "ChainMember", "bases_of", "mean_of", "modes_of", "psi_of"]

Floats = NDArray[np.float64]
Finish = Callable[[Answer], Body]
_boxed = msgspec.msgpack.Decoder(tuple[Numbers, ...])


@dataclass(frozen=True)
class ChainBasis(Basis):
    """The last member's basis: all values, the leading vectors only. Psi is what the members' own add up to."""

    psi_before: float | None = None
    psi_after: float | None = None

    def captured(self, factor: Any) -> float:
        return super().captured(factor) if self.psi_before is None else self.psi_before

    def kept(self, rank: int) -> float:
        return super().kept(rank) if self.psi_after is None else self.psi_after


def modes_of(query: InitialScatters | ModeScatter) -> list[int]:
    """The modes whose bases the query asks for."""
    return [query.mode] if isinstance(query, ModeScatter) else list(range(query.mean.ndim))


class ChainMember:
    """What a member does under this profile. Its session, keys and signatures are those of `Member`."""

    def __init__(self, agreement: Agreement, number: int, session: Session, key: SessionKey, entropy: Entropy) -> None:
        self._agreement = agreement
        self._number = number
        self._session = session
        self._key = key
        self._entropy = entropy
        self._drawn: dict[int, Floats] = {}
        """S_{d,d'}: the tensors drawn for the others, until they have been used, once."""

    def step(self, body: Body, round_: int, policy: Policy) -> Body | tuple[Any, bytes, Finish]:
        """What to say, or a query with what to make of its answer."""
        if not isinstance(body, Share | Pass):
            raise ProtocolError(f"The coordinator sent a {type(body).__name__}, which belongs to another profile.")
        query = read_query(body.query, self._session.known)
        check_query(query, self._agreement, self._session.known)
        policy.check_query(query)
        if isinstance(body, Share) and isinstance(query, StreamSums) and not body.boxes:
            return self._draw(round_)
        ctx = context(self._session.sid, round_, body.query, self._session.transcript)
        self._session.heard(body.query, b"")
        return query, body.query, self._finish(body, query, round_, ctx)

    def _finish(self, body: Share | Pass, query: Any, round_: int, ctx: bytes) -> Finish:
        if isinstance(body, Share) and isinstance(query, StreamSums):
            perturbation = self._perturbation(body.boxes, round_)
            return lambda answer: self._masked_mean(answer, perturbation, ctx)
        if isinstance(body, Share) and isinstance(query, Captured):
            return lambda answer: Values(ctx=ctx, numbers=(numbers_of(answer[0]),))
        if isinstance(body, Pass) and isinstance(query, InitialScatters | ModeScatter):
            before = self._received(body.box, query, round_)
            return lambda answer: self._pass_on(answer, query, before, round_, ctx)
        raise ProtocolError(f"The coordinator asked {type(query).__name__} in a way that this profile does not have.")

    # Algorithm 2

    def _draw(self, round_: int) -> Boxes:
        """Run by a member: a random tensor S_{d,d'} for each other member, uniform in (-V, V), sealed for it."""
        if self._drawn:
            raise ProtocolError("The coordinator asked for masks twice.")
        others = [number for number in range(self._agreement.n_members) if number != self._number]
        self._drawn = {other: self._uniform() for other in others}
        boxes = [b""] * self._agreement.n_members
        for other, tensor in self._drawn.items():
            boxes[other] = self._seal([tensor], other, round_)
        return Boxes(boxes=tuple(boxes))

    def _uniform(self) -> Floats:
        """53 random bits an entry."""
        size = int(np.prod(self._agreement.shape))
        bits = np.frombuffer(self._entropy(8 * size), "<u8") >> np.uint64(11)
        return self._agreement.largest_value * (2.0 * bits.astype(np.float64) / 2**53 - 1.0)

    def _perturbation(self, boxes: Sequence[bytes], round_: int) -> Floats:
        """The sum over d' of R_{d,d'} = S_{d,d'} - S_{d',d}."""
        if len(boxes) != self._agreement.n_members or not self._drawn:
            raise ProtocolError("The coordinator handed on masks that were not drawn, or drawn for another.")
        total = np.zeros(int(np.prod(self._agreement.shape)))
        for other, tensor in self._drawn.items():
            (received,) = self._open(boxes[other], 1, other, round_ - 1)
            total += tensor - array_of(received, total.shape, self._agreement.roster[other])
        self._drawn = {}
        return total

    def _masked_mean(self, answer: Answer, perturbation: Floats, ctx: bytes) -> Values:
        """The local mean plus its share of the perturbation, and the number of assets."""
        (count,), streams = answer
        masked = streams / count + perturbation / count
        return Values(ctx=ctx, numbers=(numbers_of(np.array([count])), numbers_of(masked)))

    # Algorithms 3 and 4

    def _received(self, box: bytes, query: Any, round_: int) -> list[Basis | None]:
        """The bases of the members before this one; there are none before the first."""
        modes = modes_of(query)
        if self._number == 0:
            return [None] * len(modes)
        sender = self._number - 1
        parts = self._open(box, 2 * len(modes), sender, round_ - 1)
        return list(bases_of(parts, modes, self._agreement, self._agreement.roster[sender]))

    def _pass_on(self, answer: Answer, query: Any, before: list[Basis | None], round_: int, ctx: bytes) -> Body:
        """Merge the own columns into the bases received. The last member truncates, and tells the coordinator."""
        merged = [
            _merged(basis, part, self._agreement.shape[mode])
            for basis, part, mode in zip(before, answer, modes_of(query), strict=True)
        ]
        following = self._number + 1
        if following < self._agreement.n_members:
            boxes = [b""] * self._agreement.n_members
            arrays = [array for basis in merged for array in (basis.values, basis.vectors)]
            boxes[following] = self._seal(arrays, following, round_)
            return Boxes(boxes=tuple(boxes))
        truncated = [
            (basis.values, basis.leading(self._rank(basis, mode, query)))
            for basis, mode in zip(merged, modes_of(query), strict=True)
        ]
        return Values(ctx=ctx, numbers=tuple(numbers_of(array) for pair in truncated for array in pair))

    def _rank(self, basis: Basis, mode: int, query: Any) -> int:
        """The agreed rank; by share of variation it is found at the initialisation, and stays."""
        if isinstance(query, ModeScatter):
            return int(query.factors[mode].shape[1])
        if self._agreement.ranks is not None:
            return self._agreement.ranks[mode]
        return smallest_rank(basis.values, self._agreement.variance_kept)

    # Boxes

    def _seal(self, arrays: Sequence[Floats], receiver: int, round_: int) -> bytes:
        content = msgspec.msgpack.encode(
            [numbers_of(array.reshape(-1) if array.ndim > 2 else array) for array in arrays]
        )
        info = enc("box", self._session.sid, round_, self._number, receiver)
        return seal_box(content, self._session.keys[receiver], info)

    def _open(self, box: bytes, count: int, sender: int, round_: int) -> tuple[Numbers, ...]:
        content = self._key.open_box(box, enc("box", self._session.sid, round_, sender, self._number))
        try:
            parts = _boxed.decode(content)
        except UNREADABLE as error:
            raise ProtocolError(f"{self._agreement.roster[sender]} sealed what cannot be read.") from error
        if len(parts) != count:
            raise ProtocolError(f"{self._agreement.roster[sender]} sealed {len(parts)} arrays where {count} belong.")
        return parts


def _merged(before: Basis | None, triangle: Floats, length: int) -> Basis:
    """The basis of the members before and this one's columns, of which its own scatter's basis has all there is."""
    own = basis_of_scatter(symmetric(triangle, length))
    if before is None:
        return own
    return absorb(before, own.vectors * np.sqrt(own.values))


def bases_of(parts: Sequence[Numbers], modes: Sequence[int], agreement: Agreement, who: str) -> tuple[Basis, ...]:
    """Bases from what a member sent: values and vectors of each mode."""
    if len(parts) != 2 * len(modes):
        raise ProtocolError(f"{who} sent {len(parts)} arrays where {2 * len(modes)} belong.")
    found = []
    for mode, values, vectors in zip(modes, parts[::2], parts[1::2], strict=True):
        length = agreement.shape[mode]
        basis = Basis(array_of(values, (length,), who), array_of(vectors, (length, None), who))
        kept = basis.vectors.shape[1]
        fits = kept <= length and bool((basis.values >= 0).all()) and float(np.abs(basis.vectors).max()) <= 1 + 1e-12
        if not fits or np.abs(basis.vectors.T @ basis.vectors - np.eye(kept)).max() > 1e-12:
            raise ProtocolError(f"{who} sent vectors that are not orthonormal, or values below 0.")
        found.append(basis)
    return tuple(found)


def mean_of(replies: Sequence[Values], agreement: Agreement) -> Answer:
    """Run by the coordinator: the sum of assets, and of masked means weighted by them (the masks cancel)."""
    total, count = np.zeros(int(np.prod(agreement.shape))), 0.0
    for number, reply in enumerate(replies):
        who = agreement.roster[number]
        if len(reply.numbers) != 2:
            raise ProtocolError(f"{who} sent {len(reply.numbers)} arrays where 2 belong.")
        assets = float(array_of(reply.numbers[0], (1,), who)[0])
        if not 1 <= assets <= agreement.most_assets:
            raise ProtocolError(f"{who} has a number of assets that was not agreed.")
        total += assets * array_of(reply.numbers[1], total.shape, who)
        count += assets
    return np.array([count]), total


def psi_of(replies: Sequence[Values], agreement: Agreement) -> Answer:
    """Run by the coordinator: the sum of the members' own captured scatters."""
    total = np.zeros(1)
    for number, reply in enumerate(replies):
        who = agreement.roster[number]
        if len(reply.numbers) != 1:
            raise ProtocolError(f"{who} sent {len(reply.numbers)} arrays where 1 belongs.")
        total += array_of(reply.numbers[0], (1,), who)
    return (total,)
