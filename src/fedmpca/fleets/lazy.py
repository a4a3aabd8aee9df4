"""Streams that stay where they are until a block of assets is asked for.

A *source* can read some neighbouring assets, up to a length. :class:`LazyStreams` is a choice of a source's assets and
a length, which looks like an array from outside: ``.shape``, ``.dtype``, ``len``, ``[i:j]``. :class:`RaggedStreams` is
the same for streams that differ in length, and looks like a list. Both are values: taking assets gives another one and
reads nothing. Reading is safe from several threads as far as the source's own reading is; ours open the file at each
read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["DEFAULT_MEMORY_LIMIT", "ArraySource", "LazyStreams", "RaggedSource", "RaggedStreams", "Source", "runs"]

DEFAULT_MEMORY_LIMIT = 10**9


class Source(Protocol):
    """Where streams come from: axes (asset, mode 0, ..., mode N-1), the last mode is time."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give the first ``length`` images of assets ``start`` to ``stop - 1``, and read as little else as possible."""


class RaggedSource(Source, Protocol):
    """A source whose streams differ in length; its ``shape`` has the longest."""

    @property
    def lengths(self) -> NDArray[np.intp]: ...


@dataclass(frozen=True)
class ArraySource:
    """Anything with ``.shape``, ``.dtype`` and ``[i:j]``: a memory map, an HDF5 dataset, another library's array."""

    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        # A copy, so that the pages of a memory map do not stay resident with the block.
        return np.array(np.asarray(self.array[start:stop])[..., :length], order="C")


def runs(indices: NDArray[np.intp]) -> Iterator[tuple[int, int, int]]:
    """Give ``(place, start, stop)`` for each run of neighbours in ``indices``, so that a run is one read."""
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    edges = [0, *breaks.tolist(), len(indices)]
    for first, last in itertools.pairwise(edges):
        if last > first:
            yield first, int(indices[first]), int(indices[last - 1]) + 1


@dataclass(frozen=True, eq=False)
class LazyStreams:
    """Some assets of a source, up to a length; nothing is read until it is indexed.

    Parameters
    ----------
    source : Source
        Reads the assets.
    indices : array of int, shape (asset,)
        Which assets of the source, in which order.
    length : int
        How many images of each.
    memory_limit : int
        Bytes that whoever passes over the streams may hold at a time; a block of assets is chosen to fit.
    """

    source: Source
    indices: NDArray[np.intp]
    length: int
    memory_limit: int = DEFAULT_MEMORY_LIMIT

    @classmethod
    def of(cls, source: Source, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> LazyStreams:
        """All of a source."""
        return cls(source, np.arange(source.shape[0]), source.shape[-1], memory_limit)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.indices), *self.source.shape[1:-1], self.length)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Read the assets asked for, and only those: an integer, slice, index array or mask, as NumPy has them."""
        assets, *rest = key if isinstance(key, tuple) else (key,)
        if assets is Ellipsis:
            block, rest = self._read(self.indices), list(key) if isinstance(key, tuple) else []
        elif isinstance(assets, int | np.integer):
            block = self._read(self.indices[[int(assets)]])[0]
        else:
            block, rest = self._read(self.indices[assets]), [slice(None), *rest] if rest else []
        images: NDArray[Any] = block[tuple(rest)] if rest else block
        return images

    def take(self, rows: slice | NDArray[Any]) -> LazyStreams:
        """Choose assets without reading them."""
        return replace(self, indices=self.indices[rows])

    def prefix(self, length: int) -> LazyStreams:
        """Choose the first ``length`` images without reading them."""
        return replace(self, length=min(length, self.length))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self._read(self.indices).astype(dtype or self.dtype, copy=False)

    def __repr__(self) -> str:
        return f"LazyStreams(shape={self.shape}, dtype={self.dtype})"

    def _read(self, indices: NDArray[np.intp]) -> NDArray[Any]:
        pieces = list(runs(indices))
        if len(pieces) == 1:  # one read, no second copy
            return self.source.read(pieces[0][1], pieces[0][2], self.length)
        block = np.empty((len(indices), *self.shape[1:]), self.dtype)
        for place, start, stop in pieces:
            block[place : place + stop - start] = self.source.read(start, stop, self.length)
        return block


@dataclass(frozen=True, eq=False)
class RaggedStreams:
    """Streams on disk that differ in length: a list whose items are read when they are asked for."""

    source: RaggedSource
    indices: NDArray[np.intp]
    memory_limit: int = DEFAULT_MEMORY_LIMIT

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def stream_shape(self) -> tuple[int, ...]:
        """Shape of one stream, the longest."""
        return (*self.source.shape[1:-1], int(self.lengths.max()))

    @property
    def lengths(self) -> NDArray[np.intp]:
        return self.source.lengths[self.indices]

    @property
    def nbytes(self) -> int:
        pixels = int(np.prod(self.source.shape[1:-1], dtype=np.int64))
        return pixels * int(self.lengths.sum()) * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            asset = int(self.indices[key])
            return self.source.read(asset, asset + 1, int(self.source.lengths[asset]))[0]
        return [self[row] for row in np.arange(len(self))[key].tolist()]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[row] for row in range(len(self)))

    def take(self, rows: slice | NDArray[Any]) -> RaggedStreams:
        """Choose assets without reading them."""
        return replace(self, indices=self.indices[rows])

    def prefix(self, length: int) -> LazyStreams:
        """Choose the first ``length`` images of every asset; all must have as many."""
        return LazyStreams(self.source, self.indices, length, self.memory_limit)

    def __repr__(self) -> str:
        return f"RaggedStreams(assets={len(self)}, longest={self.stream_shape}, dtype={self.dtype})"
