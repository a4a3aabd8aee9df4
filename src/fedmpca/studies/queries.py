"""The closed catalogue of queries: everything that a study can ask of data, and so all that can leave a member.

One law makes pooled and federated runs equal. For assets A and B, of one organisation or of two,

    query.answer(A and B together) = join(query.answer(A), query.answer(B)).

An answer is a tuple of vectors of float64, its parts, and every query of this page joins by adding. `conclude` turns
the total over all assets into what the study is told; it is a function of the total alone. How large a part can become
is computed from what the agreement makes public, never from data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import ProtocolError
from fedmpca.numerics.pieces import slabs
from fedmpca.numerics.subspaces import Basis, basis_of_scatter
from fedmpca.numerics.tensors import like, mode_scatter, project, symmetric, to_host, triangle
from fedmpca.studies.sample import Block

__all__ = [
    "Answer",
    "Bounds",
    "Captured",
    "InitialScatters",
    "Mean",
    "ModeScatter",
    "Query",
    "StreamSums",
    "join",
]

Floats = NDArray[np.float64]
Answer = tuple[Floats, ...]
Shape = tuple[int, ...]


def join(a: Answer, b: Answer, *, into_a: bool = False) -> Answer:
    """The answer for the assets behind `a` and those behind `b` together; on request in the arrays of `a`."""
    return tuple(np.add(x, y, out=x if into_a else None) for x, y in zip(a, b, strict=True))


@dataclass(frozen=True)
class Bounds:
    """What is public about the data of all members, and bounds every answer."""

    n_members: int
    most_assets: int
    """A of one member."""
    largest_value: float
    """V: no entry of a stream is larger in size."""

    @property
    def streams(self) -> float:
        """Of a sum of streams: n A V, and a little for the rounding of a member's own sum."""
        return self.n_members * self.most_assets * self.largest_value * (1 + 2.0**-20)

    def scatter(self, shape: Shape) -> float:
        """Of any scatter of centred streams, of any mode and projection: 2 n A I (2V)^2."""
        return 2.0 * self.n_members * self.most_assets * prod(shape) * (2 * self.largest_value) ** 2


COUNTS = 2.0**40
"""Bound of any count."""


class Query(Protocol):
    """A frozen value that every member sees alike."""

    @property
    def title(self) -> str:
        """What is asked, for a person who waits."""

    def parts(self, shape: Shape) -> tuple[int, ...]:
        """How many entries the parts of an answer have, for streams of this shape."""

    def bounds(self, shape: Shape, public: Bounds) -> tuple[float, ...]:
        """How large the entries of each part can become, in the total over all members."""

    def answer(self, block: Block) -> Answer:
        """Run by a member, at home, for some of its assets."""

    def conclude(self, total: Answer) -> object:
        """What the study is told of the total over all assets."""


@dataclass(frozen=True)
class Mean:
    """The number of assets, and their mean stream (paper, Eq. 3)."""

    n_assets: int
    mean: Floats
    """(mode 0, ..., mode N-1)"""


@dataclass(frozen=True)
class StreamSums:
    """How many assets, and what is the sum of their streams? (paper, Algorithm 2)"""

    shape: Shape
    title = "mean"

    def parts(self, shape: Shape) -> tuple[int, ...]:
        return 1, prod(shape)

    def bounds(self, shape: Shape, public: Bounds) -> tuple[float, ...]:
        return COUNTS, public.streams

    def answer(self, block: Block) -> Answer:
        return np.array([float(len(block))]), block.sum().reshape(-1)

    def conclude(self, total: Answer) -> Mean:
        (count,), streams = total
        if count < 1 or count != round(float(count)):
            raise ProtocolError(
                f"The members' numbers of assets add up to {float(count):g}: somebody answered falsely."
            )
        return Mean(round(float(count)), (streams / count).reshape(self.shape))


@dataclass(frozen=True)
class InitialScatters:
    """What is the scatter of each mode of the centred streams? (paper, Eq. 4, all modes in one message)"""

    mean: Floats
    title = "initial scatters"

    def parts(self, shape: Shape) -> tuple[int, ...]:
        return tuple(length * (length + 1) // 2 for length in shape)

    def bounds(self, shape: Shape, public: Bounds) -> tuple[float, ...]:
        return (public.scatter(shape),) * len(shape)

    def answer(self, block: Block) -> Answer:
        modes = range(self.mean.ndim)
        scatters: list[Floats] = [np.zeros((length, length)) for length in self.mean.shape]
        for piece, served in slabs(block.shape, modes, block.piece_cells):
            centred = block.centred(self.mean, piece)
            for mode in served:
                scatters[mode] += to_host(mode_scatter(centred, mode))
        return tuple(map(triangle, scatters))

    def conclude(self, total: Answer) -> tuple[Basis, ...]:
        pairs = zip(total, self.mean.shape, strict=True)
        return tuple(basis_of_scatter(symmetric(part, length)) for part, length in pairs)


@dataclass(frozen=True)
class ModeScatter:
    """What is the scatter of one mode, with every other mode projected on its factor? (paper, Eq. 2 and 5)"""

    mode: int
    sweep: int
    mean: Floats
    factors: tuple[Floats, ...]
    """(I_n, P_n) for each mode; the asked mode's own is not used."""
    first: int | None
    """The mode to be contracted first (None where there is no other): the order decides the last bits, so it is asked.
    A member may keep these contracted streams: they serve the following queries, until this mode's factor changes."""
    centre_first: bool
    """Whether streams are centred before they are contracted (needed where the mean is large beside what differs), or
    the contracted mean is taken from the contracted streams, which spares a pass over a copy."""

    @property
    def title(self) -> str:
        return f"sweep {self.sweep}, mode {self.mode}"

    def parts(self, shape: Shape) -> tuple[int, ...]:
        return (shape[self.mode] * (shape[self.mode] + 1) // 2,)

    def bounds(self, shape: Shape, public: Bounds) -> tuple[float, ...]:
        return (public.scatter(shape),)

    def answer(self, block: Block) -> Answer:
        if self.first is None:
            streams = block.centred(self.mean)
        else:
            factor = self.factors[self.first]
            streams = block.contracted(self.mean, factor, self.first, centre_first=self.centre_first)
        factors = [like(factor, streams) for factor in self.factors]
        done = [mode for mode in (self.mode, self.first) if mode is not None]
        return (triangle(to_host(mode_scatter(project(streams, factors, skip=done), self.mode))),)

    def conclude(self, total: Answer) -> Basis:
        (part,) = total
        return basis_of_scatter(symmetric(part, self.mean.shape[self.mode]))


@dataclass(frozen=True)
class Captured:
    """What scatter do these factors keep? (paper, Algorithm 5: Psi; only its own profile asks, sums tell it anyway)"""

    mean: Floats
    factors: tuple[Floats, ...]
    title = "captured scatter"

    def parts(self, shape: Shape) -> tuple[int, ...]:
        return (1,)

    def bounds(self, shape: Shape, public: Bounds) -> tuple[float, ...]:
        return (public.scatter(shape),)

    def answer(self, block: Block) -> Answer:
        streams = block.centred(self.mean)
        features = to_host(project(streams, [like(factor, streams) for factor in self.factors]))
        return (np.array([np.sum(features**2)]),)

    def conclude(self, total: Answer) -> float:
        ((psi,),) = total
        return float(psi)
