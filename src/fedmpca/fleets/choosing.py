"""Choosing assets and images from streams of any kind, without reading what is not in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets.lazy import ArraySource, LazyStreams, RaggedStreams

__all__ = ["cut", "is_array", "rows", "settled", "take"]


def rows(key: Any, count: int) -> slice | NDArray[np.intp]:
    """Give a key as a slice or as indices; scikit-learn asks for ``fleet[key, ...]``."""
    if isinstance(key, tuple):
        if len(key) != 2 or key[1] is not Ellipsis:
            raise DataError(f"fleet[{key!r}]: a fleet is indexed by its assets only; use prefix or at for images")
        key = key[0]
    chosen = key if isinstance(key, slice) else slice(None) if key is Ellipsis else _indices(key, count)
    if len(np.arange(count)[chosen]) == 0:
        raise DataError(f"no asset is left of {count}: a fleet has at least one")
    return chosen


def _indices(key: Any, count: int) -> NDArray[np.intp]:
    array = np.atleast_1d(np.asarray(key))
    if array.dtype == bool and array.shape == (count,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError(
            f"a key of dtype {array.dtype} and shape {array.shape} chooses nothing from {count} assets: give a slice, "
            "integers, or a mask with one value for each asset; for ids, np.isin(fleet.ids, wanted)"
        )
    indices = array.astype(np.intp)
    if (outside := (indices < -count) | (indices >= count)).any():
        raise IndexError(f"asset {indices[outside][0]} of a fleet of {count}")
    return np.where(indices < 0, indices + count, indices)


def is_array(streams: Any) -> bool:
    """Whether the values are in memory, of NumPy or of another library that follows the array standard."""
    if isinstance(streams, np.ndarray):
        return not isinstance(streams, np.memmap)
    return hasattr(streams, "__array_namespace__") or hasattr(streams, "__dlpack__")


def settled(streams: Any) -> Any:
    """One array where the lengths agree."""
    if isinstance(streams, list) and len({stream.shape[-1] for stream in streams}) == 1:
        return np.stack([np.asarray(stream) for stream in streams])
    if isinstance(streams, RaggedStreams) and len(set(streams.lengths.tolist())) == 1:
        return streams.prefix(int(streams.lengths[0]))
    return streams


def take(streams: Any, chosen: slice | NDArray[np.intp]) -> Any:
    """Choose assets; what is not in memory is not read."""
    if isinstance(streams, list):
        return [streams[place] for place in np.arange(len(streams))[chosen].tolist()]
    if isinstance(streams, LazyStreams | RaggedStreams):
        return streams.take(chosen)
    if isinstance(chosen, slice) and (is_array(streams) or isinstance(streams, np.memmap)):
        return streams[chosen, ...]
    if is_array(streams):
        xp = array_namespace(streams)
        return xp.take(streams, xp.asarray(chosen, device=device(streams)), axis=0)
    return LazyStreams.of(ArraySource(streams)).take(chosen)


def cut(streams: Any, length: int) -> Any:
    """Cut every stream to ``length``; all have as many."""
    if isinstance(streams, list):
        return np.stack([np.asarray(stream)[..., :length] for stream in streams])
    if isinstance(streams, LazyStreams | RaggedStreams):
        return streams.prefix(length)
    if isinstance(streams, np.ndarray) or is_array(streams):
        return streams[..., :length]
    return LazyStreams.of(ArraySource(streams)).prefix(length)
