"""The ring that sums are taken in: integers modulo 2^128, so that adding is exact and a mask hides perfectly.

    encode(x, E) = round(x 2^f) as two's complement, f = 126 - E      decode = the float64 nearest to the integer 2^-f

E is public and does not depend on data: every partial sum of honest summands stays within 2^E, so nothing ever wraps.
What is decoded is the correctly rounded sum of the encoded numbers, in whatever order they were added: exact for
entries of at least 2^(E-74), which have no bit below 2^-f, else within n 2^(E-127) for n summands.

A vector is an array (entry, 2) of uint64: the low and the high 64 bits. Two sums of 64 bits each would leak the carry
between them, so carries are passed on whenever two vectors are added. Only float operations that are exact are used
(ldexp, rint, floor): no logarithm ever decides a bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import frexp

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import DataError, ProtocolError

__all__ = ["ENTRY_BYTES", "add", "bound", "decode", "encode", "from_bytes", "negated", "subtract", "to_bytes", "within"]

Ring = NDArray[np.uint64]
Floats = NDArray[np.float64]

ENTRY_BYTES = 16
FRACTION = 126
CHUNK = 2**14
"""Entries worked on at a time, so that what is made of them stays in cache."""


def bound(largest: float) -> int:
    """The public exponent E of a bound: the smallest with `largest` <= 2^E."""
    mantissa, exponent = frexp(largest)
    return exponent - 1 if mantissa == 0.5 else exponent


def encode(x: Floats, exponent: int, n_summands: int, out: Ring | None = None) -> Ring:
    """The numbers as ring elements, where each is finite and at most 2^E / n in size: a sum of n then stays in 2^E."""
    x = np.ascontiguousarray(x, np.float64).reshape(-1)
    y = np.empty((len(x), 2), np.uint64) if out is None else out
    largest = np.ldexp(1.0, exponent) / n_summands
    for part in _chunks(len(x)):
        size = np.abs(x[part])
        if not (size <= largest).all():  # NaN is not at most anything
            raise DataError(
                f"A number to be sent is not finite, or larger than the agreed bound 2^{exponent} / {n_summands}: "
                "nothing was sent. Check the fleet against the agreement's largest value."
            )
        _encode(size, x[part] < 0, FRACTION - exponent, y[part])
    return y


def _encode(size: Floats, negative: NDArray[np.bool_], fraction: int, y: Ring) -> None:
    whole = np.rint(np.ldexp(size, fraction))
    high = np.floor(np.ldexp(whole, -64))
    low = (whole - np.ldexp(high, 64)).astype(np.uint64)  # exact: the lower bits of `whole`
    y[:, 0] = np.where(negative, ~low + np.uint64(1), low)
    top = high.astype(np.uint64)
    y[:, 1] = np.where(negative, ~top + (low == 0), top)  # the +1 of two's complement reaches it where low is 0


def decode(y: Ring, exponent: int) -> Floats:
    """The float64 nearest to each element, ties to even."""
    x = np.empty(len(y))
    for part in _chunks(len(y)):
        low, high, negative = _magnitude(y[part])
        # Shift the highest bit of 128 to near the top of 64, and remember in the lowest bit whether any was lost:
        # converting that to float64 then rounds as converting all 128 would.
        shift = 64 - np.frexp(high.astype(np.float64))[1].astype(np.int64)
        shift = np.where(high == 0, 64, shift)
        up, down = np.minimum(shift, 63).astype(np.uint64), np.clip(64 - shift, 0, 63).astype(np.uint64)
        joined = (high << up) | np.where(shift > 0, low >> down, 0).astype(np.uint64)
        lost = (shift < 64) & ((low << up) != 0)
        size = np.where(shift == 64, low, joined | lost).astype(np.float64)
        sized = np.ldexp(size, 64 - shift - (FRACTION - exponent))
        x[part] = np.where(negative, -sized, sized)
    return x


def within(y: Ring, exponent: int) -> bool:
    """Whether every element is at most 2^E in size, as every honest total is."""
    high = y[:, 1].view(np.int64)
    top = 1 << (FRACTION - 64)
    at_top = high == top  # 2^126 itself is within, and the last one
    return bool(len(y) == 0 or (high.min() >= -top and high.max() <= top and not y[at_top, 0].any()))


def _magnitude(y: Ring) -> tuple[Ring, Ring, NDArray[np.bool_]]:
    low, high = y[:, 0], y[:, 1]
    negative = high >> np.uint64(63) == 1
    return np.where(negative, ~low + np.uint64(1), low), np.where(negative, ~high + (low == 0), high), negative


def add(total: Ring, y: Ring) -> None:
    """total += y, modulo 2^128."""
    for part in _chunks(len(y)):
        sums, summand = total[part], y[part]
        np.add(sums, summand, out=sums)
        sums[:, 1] += sums[:, 0] < summand[:, 0]  # a sum below a summand has wrapped: carry


def subtract(total: Ring, y: Ring) -> None:
    """total -= y, modulo 2^128."""
    for part in _chunks(len(y)):
        rest, summand = total[part], y[part]
        borrow = rest[:, 0] < summand[:, 0]
        np.subtract(rest, summand, out=rest)
        rest[:, 1] -= borrow


def negated(y: Ring) -> Ring:
    """-y, modulo 2^128."""
    total = np.zeros_like(y)
    subtract(total, y)
    return total


def to_bytes(y: Ring) -> bytes:
    """16 bytes an element, little-endian."""
    return np.ascontiguousarray(y, "<u8").tobytes()


def from_bytes(text: bytes, n_entries: int) -> Ring:
    """The elements behind the bytes, in memory of their own."""
    if len(text) != ENTRY_BYTES * n_entries:
        raise ProtocolError(f"{len(text)} bytes came where {n_entries} ring elements take {ENTRY_BYTES * n_entries}.")
    return np.frombuffer(text, "<u8").reshape(n_entries, 2).astype(np.uint64)


def _chunks(length: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, length)) for start in range(0, length, CHUNK))
