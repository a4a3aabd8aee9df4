"""One reader for each kind of file; all say shape and dtype from the header and read values when asked.

A reader of a format that can only be read whole says so (``sliceable = False``). Pages and frames become the last axis.
Zarr and video files are not read yet.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets.images import open_frames, open_tiff
from fedmpca.fleets.npy import open_npy, open_npz
from fedmpca.fleets.opening import choose, optional, reading, refuse_odd_dtype

__all__ = ["ArrayFile", "Hdf5Dataset", "MatVariable", "open_array"]

HDF5_LOCK = threading.Lock()  # the HDF5 library is not made for several threads


class ArrayFile(Protocol):
    """An array on disk: what its header says, and how to read part of it."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def sliceable(self) -> bool: ...

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give entries ``start`` to ``stop - 1`` of the first axis, the first ``length`` of the last."""


def open_array(stream: str, folder: Path) -> ArrayFile:
    """Open what a table's ``stream`` column names: a path, relative to the table's folder, and ``::NAME`` inside it."""
    name, _, inside = stream.partition("::")
    path = _locate(name, folder)
    if not path.exists():
        raise DataError(f"{path} is not there: correct the stream column, or put the file where it says")
    if path.is_dir():
        return open_frames(path)
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        known = ", ".join(OPENERS)
        raise DataError(
            f"{path} has suffix {path.suffix!r}, which is not read; use one of {known}, or a folder of PNG or TIFF "
            "frames"
        )
    array = opener(path, inside)
    if 0 in array.shape:
        raise DataError(f"{array.name} has shape {array.shape}: every axis has at least one entry")
    return array


def _locate(name: str, folder: Path) -> Path:
    if not name:
        raise DataError("the stream is empty: name the asset's file, relative to the folder of the table")
    if os.path.isabs(name):
        return Path(name)
    path = Path(os.path.normpath(name))
    if ".." in path.parts:
        raise DataError(
            f"stream {name!r} leaves the folder of the table: move the file into it, or give an absolute path"
        )
    return folder / path


# HDF5, and MATLAB's files since version 7.3, which are HDF5


@dataclass(frozen=True)
class Hdf5Dataset:
    """A dataset of an HDF5 file. MATLAB writes its axes in reverse order."""

    path: Path
    dataset: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_reversed: bool = False
    sliceable = True

    @property
    def name(self) -> str:
        return f"{self.path}::{self.dataset}"

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give entries ``start`` to ``stop - 1`` of the first axis, the first ``length`` of the last."""
        h5py = optional("h5py", f"reading {self.path.name}")
        key: list[slice] = [slice(None)] * len(self.shape)
        key[-1] = slice(0, length)
        key[0] = slice(start, min(stop, length) if len(key) == 1 else stop)
        with reading(self.name), HDF5_LOCK, h5py.File(self.path, "r") as file:
            values = np.asarray(file[self.dataset][tuple(key[::-1] if self.is_reversed else key)])
        return np.ascontiguousarray(values.T if self.is_reversed else values, self.dtype)


def open_hdf5(path: Path, inside: str) -> Hdf5Dataset:
    """Open ``file.h5::/path``, or the file's only dataset."""
    h5py = optional("h5py", f"reading {path.name}")
    with reading(str(path)), HDF5_LOCK, h5py.File(path, "r") as file:
        dataset = choose(inside.strip("/"), _datasets(file, h5py), str(path))
        stored = file[dataset]
        refuse_odd_dtype(stored.dtype, f"{path}::{dataset}")
        is_reversed = path.suffix.lower() == ".mat"
        shape = tuple(stored.shape)
        return Hdf5Dataset(
            path, dataset, shape[::-1] if is_reversed else shape, stored.dtype.newbyteorder("="), is_reversed
        )


def _datasets(file: Any, h5py: Any) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


# MATLAB up to version 7


@dataclass(frozen=True)
class MatVariable:
    """A variable of a MATLAB file before version 7.3: it can be read whole only."""

    path: Path
    variable: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    sliceable = False

    @property
    def name(self) -> str:
        return f"{self.path}::{self.variable}"

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give entries ``start`` to ``stop - 1`` of the first axis, the first ``length`` of the last."""
        from scipy.io import loadmat

        with reading(
            self.name
        ):  # as stored: MATLAB packs whole numbers, and asking for its dtype would drop imaginary parts
            values = loadmat(self.path, variable_names=[self.variable])[self.variable]
        if np.iscomplexobj(values):
            raise DataError(f"{self.name} is complex: save its real and imaginary parts as a mode of size 2")
        return np.ascontiguousarray(values[start:stop, ..., :length], self.dtype)


MATLAB_CLASSES = {"double": "f8", "single": "f4", "logical": "?"}
MATLAB_CLASSES |= {f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def open_mat(path: Path, inside: str) -> MatVariable | Hdf5Dataset:
    """Open ``file.mat::NAME``, or the file's only variable."""
    from scipy.io import whosmat

    with reading(str(path)), path.open("rb") as file:
        file.seek(512)  # MATLAB writes its own text before the HDF5 signature
        behind = file.read(8)
        file.seek(0)
        if b"\x89HDF\r\n\x1a\n" in (behind, file.read(8)):
            return open_hdf5(path, inside)
    with reading(str(path)):
        variables = {name: (shape, kind) for name, shape, kind in whosmat(path)}
    chosen = choose(inside, list(variables), str(path))
    shape, kind = variables[chosen]
    if kind not in MATLAB_CLASSES:
        raise DataError(f"{path}::{chosen} is a MATLAB {kind}: save it as a full numeric array")
    return MatVariable(path, chosen, tuple(shape), np.dtype(MATLAB_CLASSES[kind]))


OPENERS: dict[str, Callable[[Path, str], ArrayFile]] = {
    ".npy": lambda path, inside: open_npy(path),
    ".npz": open_npz,
    ".mat": open_mat,
    ".h5": open_hdf5,
    ".hdf5": open_hdf5,
    ".tif": open_tiff,
    ".tiff": open_tiff,
}
