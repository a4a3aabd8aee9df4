"""Streams read off at other ages: linear interpolation between neighbouring images, and never beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import DataError

__all__ = ["Resampled", "check_seen", "interpolate", "resampled_dtype"]

Floats = NDArray[np.float64]


def resampled_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Floats keep their dtype; between two integers lies no integer."""
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def interpolate(images: NDArray[Any], knots: Floats, ages: Floats) -> NDArray[Any]:
    """Read images (..., time) taken at ``knots`` off at ``ages``, all within the knots.

    An age that is a knot gives that image, to the bit and whatever its neighbours hold; between knots a pixel missing
    (NaN) on either side is missing.
    """
    left = np.searchsorted(knots, ages, side="right") - 1
    dtype = resampled_dtype(images.dtype)
    result = np.take(images, left, axis=-1).astype(dtype, copy=False)
    between = np.flatnonzero(ages > knots[left])
    if len(between):
        before, after = knots[left[between]], knots[left[between] + 1]
        share = ((ages[between] - before) / (after - before)).astype(dtype)
        lower = result[..., between]
        with np.errstate(invalid="ignore", over="ignore"):  # infinite pixels are the first pass's to name
            result[..., between] = lower + share * (np.take(images, left[between] + 1, axis=-1).astype(dtype) - lower)
    return result


def check_seen(knots: list[Floats], ages: Floats, names: list[str]) -> None:
    """Refuse ages outside what an asset saw, naming the first such asset."""
    for vector, name in zip(knots, names, strict=True):
        if ages[0] >= vector[0] and ages[-1] <= vector[-1]:
            continue
        beyond = ages[0] if ages[0] < vector[0] else ages[-1]
        low, high = max(vector[0] for vector in knots), min(vector[-1] for vector in knots)
        common = f"all assets share ages {low:g} to {high:g}" if low <= high else "no age is shared by all assets"
        raise DataError(
            f"asset {name!r} was seen from age {vector[0]:g} to {vector[-1]:g}, and age {beyond:g} was asked for: "
            f"streams are never read beyond what was seen. Ask for other ages ({common}), or leave out the assets "
            "that saw less"
        )


@dataclass(frozen=True)
class Resampled:
    """A source (see ``lazy.py``) that interpolates the assets it is asked for, when it is asked.

    ``streams`` give assets by ``[i:j]``, as an array or as a list; ``knots`` has a vector for each asset, or one for
    all.
    """

    streams: Any
    knots: Floats | list[Floats]
    ages: Floats
    modes: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.streams), *self.modes, len(self.ages))

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        ages = self.ages[:length]
        if not isinstance(self.knots, list):
            return interpolate(np.asarray(self.streams[start:stop]), self.knots, ages)
        block = np.empty((stop - start, *self.modes, length), self.dtype)
        for asset in range(start, stop):  # one at a time: their lengths, and so their arrays, may differ
            stream = np.asarray(self.streams[asset : asset + 1][0])
            block[asset - start] = interpolate(stream, self.knots[asset], ages)
        return block
