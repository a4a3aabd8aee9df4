"""NumPy's own files, read by plain file reads.

A mapped file would leave every page it was read through resident; a plain read leaves only the block. Nothing here ever
unpickles. Each read opens the file itself, so several threads may read at once.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets.opening import choose, reading, refuse_odd_dtype

__all__ = ["NpyFile", "NpzMember", "open_npy", "open_npz"]

CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True)
class NpyFile:
    """An array at an offset of a file. In Fortran order the asset runs fastest, so a block of assets is gathered."""

    path: Path
    offset: int
    shape: tuple[int, ...]
    stored: np.dtype[Any]
    fortran: bool
    sliceable = True

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.newbyteorder("=")

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give entries ``start`` to ``stop - 1`` of the first axis, the first ``length`` of the last."""
        if self.fortran:
            return self._gather(start, stop, length)
        if length == self.shape[-1]:
            return self._rows(self.shape, start, stop)
        block = np.empty((stop - start, *self.shape[1:-1], length), self.dtype)
        for low, high in self._steps(self.shape, start, stop):
            block[low - start : high - start] = self._rows(self.shape, low, high)[..., :length]
        return block

    def _gather(self, start: int, stop: int, length: int) -> NDArray[Any]:
        # The file is the C-order array of the reversed shape, assets last: images after `length` are never read.
        block = np.empty((stop - start, *self.shape[1:-1], length), self.dtype)
        for low, high in self._steps(self.shape[::-1], 0, length):
            block.T[low:high] = self._rows(self.shape[::-1], low, high)[..., start:stop]
        return block

    def _steps(self, shape: tuple[int, ...], start: int, stop: int) -> Iterator[tuple[int, int]]:
        step = max(1, CHUNK_BYTES // (_count(shape[1:]) * self.stored.itemsize))
        return ((low, min(low + step, stop)) for low in range(start, stop, step))

    def _rows(self, shape: tuple[int, ...], start: int, stop: int) -> NDArray[Any]:
        entry = _count(shape[1:])
        offset = self.offset + start * entry * self.stored.itemsize
        with reading(self.name):
            values = np.fromfile(self.path, self.stored, (stop - start) * entry, offset=offset)
        if len(values) != (stop - start) * entry:
            raise DataError(f"{self.name} has become shorter since it was opened: write the file again")
        return values.reshape(stop - start, *shape[1:]).astype(self.dtype, copy=False)


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def open_npy(path: Path) -> NpyFile:
    """Read the header of a .npy file, and check that the file is as long as it says."""
    with reading(str(path)), path.open("rb") as file:
        return _array_at(file, path, str(path), path.stat().st_size)


def _array_at(file: IO[bytes], path: Path, name: str, end: int) -> NpyFile:
    shape, fortran, dtype = _header(file, name)
    array = NpyFile(path, file.tell(), shape, dtype, fortran and len(shape) > 1)
    promised, there = _count(shape) * dtype.itemsize, end - file.tell()
    if there < promised:
        raise DataError(
            f"{name} is cut short: its header promises {promised} bytes for shape {shape}, {dtype}, and {there} are "
            "there; copy or write the file again"
        )
    return array


def _header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy_format.read_magic(file)
    if version == (1, 0):
        shape, fortran, dtype = npy_format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, fortran, dtype = npy_format.read_array_header_2_0(file)
    else:
        raise DataError(
            f"{name} has NumPy format version {version}, which plain arrays never need: save it as an array of numbers"
        )
    refuse_odd_dtype(dtype, name)
    return tuple(shape), fortran, dtype


@dataclass(frozen=True)
class NpzMember:
    """A compressed array of a .npz archive: it can be read whole only."""

    path: Path
    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    sliceable = False

    @property
    def name(self) -> str:
        return f"{self.path}::{self.member}"

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give entries ``start`` to ``stop - 1`` of the first axis, the first ``length`` of the last."""
        with reading(self.name), np.load(self.path, allow_pickle=False) as archive:
            return np.asarray(archive[self.member])[start:stop, ..., :length].astype(self.dtype, copy=False)


def open_npz(path: Path, member: str) -> NpyFile | NpzMember:
    """Open one array of an archive; one that is stored without compression is read in place."""
    with reading(str(path)), zipfile.ZipFile(path) as archive:
        names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        chosen = choose(member, names, str(path))
        info = archive.getinfo(chosen + ".npy")
        if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
            return _stored(path, chosen, info)
        with archive.open(info) as file:
            shape, _, dtype = _header(file, f"{path}::{chosen}")
        return NpzMember(path, chosen, shape, dtype.newbyteorder("="))


def _stored(path: Path, member: str, info: zipfile.ZipInfo) -> NpyFile:
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(30)  # the archive's own record before the member: lengths of name and extra field at its end
        names = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        start = info.header_offset + 30 + names
        file.seek(start)
        return _array_at(file, path, f"{path}::{member}", start + info.file_size)
