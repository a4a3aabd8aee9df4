"""The streams that one party answers queries from: read block by block, moved to a device, contracted once and kept.

Nothing here decides a bit of an answer except the cut into blocks, which depends on shapes alone: contracted streams
that were kept are what would be computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray

from fedmpca.errors import DataError, MissingExtraError
from fedmpca.numerics.pieces import PIECE_CELLS, asset_blocks, slabs
from fedmpca.numerics.tensors import Array, contract, like, to_host

__all__ = ["Block", "Sample"]

Floats = NDArray[np.float64]

DEVICE_PIECE_CELLS = 2**27
"""An accelerator wants large pieces: 1 GB of float64."""

MB = 2**20


class Sample:
    """Streams (asset, mode 0, ..., mode N-1) as queries see them.

    `streams` is an array of any namespace, or anything with `shape`, `dtype` and slices of assets that are NumPy
    arrays (a fleet on disk). `memory_limit` (bytes) is what answering may use; None allows for what a fit may take:
    a quarter of the streams' own size and 32 MB. `device` is where blocks are moved ("cuda"; needs PyTorch for host
    arrays). `ids` are the assets' names in errors.
    """

    def __init__(
        self,
        streams: Any,
        *,
        ids: Sequence[str] | NDArray[np.str_] | None = None,
        memory_limit: int | None = None,
        device: str | None = None,
    ) -> None:
        self.streams = streams
        self.ids = ids
        self.device = device
        self.shape = tuple(int(length) for length in streams.shape)
        self.cells = prod(self.shape[1:])
        self.on_host = device in (None, "cpu") and (is_numpy_array(streams) or not is_array_api_obj(streams))
        self.piece_cells = PIECE_CELLS if self.on_host else DEVICE_PIECE_CELLS
        self.n_bytes = len(self) * self.cells * getattr(streams.dtype, "itemsize", 8)
        own = self.n_bytes // 5 + 6 * MB - 9 * self.cells  # with the mean and what is at work, a quarter and 32 MB
        self._room = max(0, own) if memory_limit is None else memory_limit // 2
        self._cut = asset_blocks(len(self), self.cells, self.piece_cells)
        self._kept: Contracted | None = None
        self._moved: tuple[Floats, Array] | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_blocks(self) -> int:
        """How many blocks of whole assets the sample is cut into."""
        return len(self._cut)

    def block(self, number: int) -> Block:
        """One block, to be let go when it has been asked: it holds its streams."""
        return Block(self, number, self._cut[number])

    def kept(self, mean: Floats, factor: Floats, mode: int, centre_first: bool) -> Contracted:
        """The streams contracted with this factor, as far as they were computed. One query is answered at a time."""
        with self._lock:
            if self._kept is None or not self._kept.serves(mean, factor, mode, centre_first):
                memory = None if self._kept is None else self._kept.memory
                self._kept = None  # where its memory does not serve again, it is free before more is taken
                self._kept = Contracted(self, mean, factor, mode, centre_first, memory)
            return self._kept

    def room_for(self, factor: Floats) -> int:
        """Of how many assets the streams contracted with this factor may be kept."""
        length, rank = factor.shape
        n_bytes: int = 8 * self.cells // length * rank
        return min(len(self), self._room // n_bytes)

    def move(self, array: Floats, model: Array) -> Array:
        """The array beside `model`; the last one moved is remembered (the mean, which every block needs)."""
        moved = self._moved
        if moved is None or moved[0] is not array:
            self._moved = moved = (array, like(array, model))
        return moved[1]


class Contracted:
    """Centred streams contracted with one mode's factor; the blocks that the sample has room for are kept."""

    def __init__(
        self, sample: Sample, mean: Floats, factor: Floats, mode: int, centre_first: bool, memory: Floats | None
    ) -> None:
        self._key = (mean, factor, mode, centre_first)
        self.mean: Floats | None = None if centre_first else contract(mean[None], factor, mode)[0]
        """The contracted mean, to be taken from the contracted streams; None where they were centred before."""
        self._blocks: dict[int, Array] = {}
        self._n_kept = sample.room_for(factor)
        self._shape = (*sample.shape[1 : mode + 1], factor.shape[1], *sample.shape[mode + 2 :])
        # One piece of memory for all blocks of all sweeps: fresh memory costs more in page faults than the products.
        size = self._n_kept * prod(self._shape) if sample.on_host else 0
        self.memory = memory if memory is not None and memory.size >= size else np.empty(size)
        self._rows = self.memory[:size].reshape(-1, *self._shape)

    def serves(self, mean: Floats, factor: Floats, mode: int, centre_first: bool) -> bool:
        """Whether these are the streams contracted with this factor."""
        return self._key[2:] == (mode, centre_first) and _same(self._key[1], factor) and _same(self._key[0], mean)

    def get(self, number: int) -> Array | None:
        """The block, if it was kept."""
        return self._blocks.get(number)

    def keeps(self, assets: slice) -> bool:
        """Whether the block of these assets is kept."""
        return bool(assets.stop <= self._n_kept)

    def room(self, assets: slice) -> Floats:
        """Where to write the block of these assets, on the host."""
        return self._rows[assets] if self.keeps(assets) else np.empty((assets.stop - assets.start, *self._shape))

    def keep(self, number: int, assets: slice, contracted: Array) -> None:
        """Keep the block, where there is room for its assets."""
        if self.keeps(assets):
            self._blocks[number] = contracted


def _same(a: Floats, b: Floats) -> bool:
    return a is b or bool(np.array_equal(a, b))


class Block:
    """A few assets of a sample: what a query is answered from."""

    def __init__(self, sample: Sample, number: int, assets: slice) -> None:
        self._sample = sample
        self._number = number
        self._assets = assets
        self._streams: Array | None = None
        self.shape: tuple[int, ...] = (assets.stop - assets.start, *sample.shape[1:])
        self.piece_cells = sample.piece_cells

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def streams(self) -> Array:
        """The assets' streams as they are stored, read once."""
        if self._streams is None:
            self._streams = _placed(self._sample.streams[self._assets, ...], self._sample.device)
        return self._streams

    def sum(self) -> NDArray[Any]:
        """Sum of the streams in float64; one stream is its own sum, as it is stored (a copy of it may be large)."""
        xp = array_namespace(self.streams)
        total = self.streams[0, ...] if len(self) == 1 else xp.sum(self.streams, axis=0, dtype=xp.float64)
        return to_host(total)

    def stored(self, piece: tuple[slice, ...]) -> Array:
        """A piece of the streams as they are, in float64."""
        xp = array_namespace(self.streams)
        return xp.astype(self.streams[piece], xp.float64, copy=False)

    def centred(self, mean: Floats, piece: tuple[slice, ...] | None = None) -> Array:
        """The streams, or a piece of them, less the mean, in float64."""
        xp = array_namespace(self.streams)
        piece = piece or tuple(slice(0, length) for length in self.shape)
        stored, middle = self.streams[piece], self._sample.move(mean, self.streams)[piece[1:]]
        if stored.dtype == xp.float64:
            return stored - middle
        centred = xp.astype(stored, xp.float64)
        centred -= middle
        return centred

    def contracted(self, mean: Floats, factor: Floats, mode: int, *, centre_first: bool) -> Array:
        """The centred streams times_n U', kept for the queries to come where the sample has room."""
        kept = self._sample.kept(mean, factor, mode, centre_first)
        found = kept.get(self._number)
        if found is None:
            parts = self._parts(mean if centre_first else None, factor, mode)
            found = _written(parts, kept.room(self._assets)) if self._sample.on_host else _joined(parts)
            if kept.mean is not None:
                found -= like(kept.mean, found)
            kept.keep(self._number, self._assets, found)
        return found

    def _parts(self, mean: Floats | None, factor: Floats, mode: int) -> Iterator[tuple[slice, Array]]:
        """Slab by slab of mode 0, as the streams lie in memory: the slabs of a result, or what adds up to it."""
        small = like(factor, self.streams)
        whole = slice(0, factor.shape[1])
        for slab, _ in slabs(self.shape, [1], self.piece_cells):
            rows = slab[1]
            part = self.stored(slab) if mean is None else self.centred(mean, slab)
            yield (whole, contract(part, small[rows, :], 0)) if mode == 0 else (rows, contract(part, small, mode))

    def not_finite(self) -> tuple[int, tuple[int, ...], float] | None:
        """Asset, place in its stream and value of the first entry that is no finite number."""
        streams = to_host(self.streams)
        bad = np.argwhere(~np.isfinite(streams))
        if not len(bad):
            return None
        row, *place = (int(index) for index in bad[0])
        return self._assets.start + row, tuple(place), float(streams[tuple(bad[0])])


def _written(parts: Iterator[tuple[slice, Array]], room: Floats) -> Floats:
    """The block in memory of our own: parts of the same rows of mode 0 are added."""
    end = 0
    for rows, part in parts:
        if rows.start >= end:
            room[:, rows] = part
        else:
            room[:, rows] += part
        end = rows.stop
    return room


def _joined(parts: Iterator[tuple[slice, Array]]) -> Array:
    """The same on a device, whose arrays may not be writable."""
    (rows, first), *others = parts
    if not others:
        return first
    if others[0][0] == rows:
        return sum((part for _, part in others), start=first)
    return array_namespace(first).concat([first, *(part for _, part in others)], axis=1)


def _placed(streams: Array, device: str | None) -> Array:
    if device is None or (device == "cpu" and is_numpy_array(streams)):
        return streams
    if not is_numpy_array(streams):
        return array_namespace(streams).asarray(streams, device=device)
    try:
        import torch
    except ImportError as missing:
        raise MissingExtraError(
            f"device={device!r} moves blocks of NumPy arrays there with PyTorch, which is not installed: "
            'pip install "fedmpca[torch]", or leave device=None.'
        ) from missing
    try:
        return torch.asarray(streams, device=device)
    except RuntimeError as refused:  # PyTorch's word for everything: no such device, none here, no memory on it
        reason = str(refused).partition("\n")[0]
        raise DataError(
            f"Blocks cannot be moved to device={device!r}: {reason}. Leave device=None for this one."
        ) from refused
