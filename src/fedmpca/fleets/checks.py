"""What a fleet refuses in its streams and in the ages of their images, with the row, the value and the way out.

Only shapes and types of streams are looked at here; their values are left to the first pass over them. Rows are counted
from 1, as in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets.columns import check_count, first, row
from fedmpca.fleets.lazy import RaggedStreams

__all__ = ["as_ages", "as_streams", "as_times", "collapse", "numeric_dtype"]

Floats = NDArray[np.float64]
Times = Floats | list[Floats]


# Streams


def numeric_dtype(array: Any, name: str = "streams") -> np.dtype[Any]:
    """Give the NumPy dtype, of another library's array too; numbers and booleans only."""
    text = str(array.dtype).rpartition(".")[2]  # PyTorch says "torch.float32"
    try:
        dtype = np.dtype(text)
    except TypeError:
        raise DataError(
            f"{name} have dtype {array.dtype}, which NumPy does not know: convert them to float64"
        ) from None
    if dtype.kind not in "fiub":
        raise DataError(
            f"{name} have dtype {dtype}; a stream holds real numbers (float32 or float64) or integers: "
            'convert them, for example with np.asarray(streams, dtype="float64"), and split complex numbers into a mode'
        )
    return dtype


def as_streams(streams: Any, ids: Any = None) -> Any:
    """Check streams and keep them as given. ``ids`` name assets in messages, and are not checked yet."""
    if isinstance(streams, list | tuple):
        return _as_list(streams, _row_names(ids, len(streams)))
    if isinstance(streams, RaggedStreams):
        return streams
    if isinstance(streams, pd.DataFrame):
        streams = streams.to_numpy()
    if not (hasattr(streams, "shape") and hasattr(streams, "dtype")):
        raise DataError(
            f"streams are a {type(streams).__name__}: give an array (asset, mode 0, ..., time), or a list of arrays "
            "that differ in length only"
        )
    numeric_dtype(streams)
    shape = tuple(streams.shape)
    if len(shape) < 2:
        raise DataError(
            f"streams have shape {shape}, one axis: they need the assets and at least one mode, as in "
            "streams[np.newaxis] for one asset or streams[:, np.newaxis] for one feature an asset"
        )
    _check_sizes(shape)
    return streams


def _check_sizes(shape: tuple[int, ...]) -> None:
    if shape[0] == 0:
        raise DataError(f"streams have shape {shape}, no assets: a fleet has at least one")
    if 0 in shape[1:]:
        mode = shape[1:].index(0)
        raise DataError(f"streams have shape {shape}, mode {mode} of size 0: every mode has at least one entry")


def _row_names(ids: Any, count: int) -> list[str]:
    known = list(ids) if isinstance(ids, list | tuple | np.ndarray | pd.Series) else []
    named = [f"row {place + 1}, asset {str(name)!r}," for place, name in enumerate(known[:count])]
    return named + [f"row {place + 1}" for place in range(len(named), count)]


def _as_list(streams: Sequence[Any], names: list[str]) -> list[Any]:
    arrays = [_as_one(stream, name) for stream, name in zip(streams, names, strict=True)]
    if not arrays:
        raise DataError("streams are an empty list, no assets: a fleet has at least one")
    expected = tuple(arrays[0].shape)
    for array, name in zip(arrays, names, strict=True):
        shape = tuple(array.shape)
        if 0 in shape:
            raise DataError(f"the stream of {name} has shape {shape}: every mode has at least one entry")
        if len(shape) != len(expected) or shape[:-1] != expected[:-1] or (len(shape) == 1 and shape != expected):
            raise DataError(
                f"the stream of {name} has shape {shape}, that of row 1 has {expected}: streams may differ "
                "in length (the last axis) only; crop or resample the images, or put these assets into another fleet"
            )
    return arrays


def _as_one(stream: Any, name: str) -> Any:
    if not (hasattr(stream, "shape") and hasattr(stream, "dtype")):
        try:
            stream = np.asarray(stream)
        except ValueError:
            raise DataError(f"the stream of {name} is ragged within itself: give an array for each asset") from None
    numeric_dtype(stream, f"the images of {name}")
    if len(stream.shape) == 0:
        raise DataError(f"the stream of {name} is a single number: give an array (mode 0, ..., time)")
    return stream


# Ages of the images


def as_times(times: Any, lengths: NDArray[np.intp], ids: NDArray[np.str_]) -> Times:
    """Give one increasing vector for all assets, or a list of vectors where they have no common one."""
    longest = int(lengths.max())
    if times is None:
        return np.arange(1.0, longest + 1)
    times = times.to_numpy() if isinstance(times, pd.Series) else times
    try:
        single = np.ndim(times[0]) == 0
        vectors = [np.array(vector, dtype=np.float64) for vector in ([times] if single else times)]
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise DataError(
            f"times are not ages ({error}): give one increasing vector of numbers, or a list of vectors"
        ) from None
    if single:
        return _check_vector(vectors[0], longest, "times", "the longest stream has")
    check_count("vectors of times", len(vectors), len(ids))
    for place, vector in enumerate(vectors):
        _check_vector(vector, int(lengths[place]), f"the times of {row(ids, place)}", "its stream has")
    return collapse(vectors)


def as_ages(times: Any) -> Floats:
    """Check the ages asked of ``Fleet.at``: one increasing vector."""
    try:
        ages = np.array(times, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"at: times are not ages ({error}): give one increasing vector of numbers") from None
    if ages.ndim != 1 or len(ages) == 0:
        raise DataError(f"at: times have shape {ages.shape}: give one increasing vector with at least one age")
    return _check_vector(ages, len(ages), "at: times", "there are")


def collapse(vectors: list[Floats]) -> Times:
    """Give the longest vector where every other is its beginning: then it serves for all."""
    longest = max(vectors, key=len)
    if all(np.array_equal(vector, longest[: len(vector)]) for vector in vectors):
        return longest
    return vectors


def _check_vector(vector: Floats, length: int, name: str, whose: str) -> Floats:
    if vector.ndim != 1 or len(vector) != length:
        raise DataError(f"{name} have shape {vector.shape} where {whose} {length} images: give one age for each image")
    if not np.isfinite(vector).all():
        place = first(~np.isfinite(vector))
        raise DataError(
            f"{name} are {vector[place]:g} at image {place + 1}: ages are finite; leave the image out, or give its age"
        )
    if (falls := np.diff(vector) <= 0).any():
        place = first(falls)
        raise DataError(
            f"{name} go from {vector[place]:g} to {vector[place + 1]:g} at image {place + 2}: ages increase from "
            "image to image; sort the images by age and keep one for each age"
        )
    return vector
