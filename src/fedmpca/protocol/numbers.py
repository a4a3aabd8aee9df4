"""Arrays of float64 in messages."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import ProtocolError
from fedmpca.protocol.messages import Numbers

__all__ = ["array_of", "numbers_of"]

Floats = NDArray[np.float64]


def numbers_of(array: Floats) -> Numbers:
    """The array as it travels."""
    return Numbers(tuple(array.shape), np.ascontiguousarray(array, "<f8").tobytes())


def array_of(numbers: Numbers, shape: tuple[int | None, ...], who: str) -> Floats:
    """The array, where it has this shape (None: any length) and finite values."""
    fits = len(numbers.shape) == len(shape) and all(
        n == wanted or (wanted is None and n >= 1) for n, wanted in zip(numbers.shape, shape, strict=False)
    )
    if not fits or prod(numbers.shape) * 8 != len(numbers.data):
        raise ProtocolError(f"{who} sent an array of shape {numbers.shape}, where {shape} belongs.")
    array = np.frombuffer(numbers.data, "<f8").reshape(numbers.shape)
    if not np.isfinite(array).all():
        raise ProtocolError(f"{who} sent an array with values that are not finite.")
    return array
