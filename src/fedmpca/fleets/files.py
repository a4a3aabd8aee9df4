"""A fleet from and to disk: a folder with a table, its streams, and ``times.csv`` where images have ages.

Headers, sizes and the table are checked here; values inside streams are read later, a block of assets at a time.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets import columns
from fedmpca.fleets.fleet import Fleet
from fedmpca.fleets.formats import ArrayFile, open_array
from fedmpca.fleets.lazy import LazyStreams, RaggedStreams
from fedmpca.fleets.table import KNOWN, Table, find_table, read_table, read_times, write_csv

__all__ = ["AssetFiles", "load_fleet", "parse_bytes", "save_fleet"]

UNITS = {"": 1, "B": 1} | {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)}
BLOCK_BYTES = 64 * 10**6


@dataclass(frozen=True)
class AssetFiles:
    """A source (see ``lazy.py``) with one file for each asset; files may differ in length."""

    files: tuple[ArrayFile, ...]
    lengths: NDArray[np.intp]
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.files), *self.files[0].shape[:-1], int(self.lengths.max()))

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        block = np.empty((stop - start, *self.files[0].shape[:-1], length), self.dtype)
        for place, file in enumerate(self.files[start:stop]):
            block[place] = file.read(0, file.shape[0], length)
        return block


def load_fleet(path: str | os.PathLike[str], covariates: Sequence[str] = (), memory_limit: str | int = "1GB") -> Fleet:
    """Load a fleet; its streams stay on disk until blocks of them are asked for.

    Parameters
    ----------
    path : path
        A folder with ``fleet.csv`` or ``fleet.parquet``, or the table itself. Columns: ``asset_id``; ``stream``, a
        file for each asset relative to the table (or one file for all rows, row i being asset i); ``life``, empty for
        all where unknown; ``event`` (1 or 0); optionally ``upper`` and ``entry``. ``times.csv`` beside it holds the
        ages of the images.
    covariates : sequence of str
        Names of further columns of the table; others are left alone.
    memory_limit : str or int
        Bytes of streams that a pass may hold at a time, such as "500 MB" (decimal) or "2GiB" (binary).

    Raises
    ------
    DataError
        Names the file, the row, the value and the way out.
    MissingExtraError
        Where a file's format needs a library that is not installed.

    Notes
    -----
    A table of one row whose file has a first axis of size 1 is read as one file for all.
    """
    limit = parse_bytes(memory_limit)
    table = read_table(find_table(Path(path)), [covariates] if isinstance(covariates, str) else list(covariates))
    times = read_times(table.path.parent / "times.csv", table.ids)
    streams = _streams(table, limit)
    try:
        return Fleet(
            streams,
            lives=table.lives,
            events=table.events,
            ids=table.ids,
            times=times,
            upper=table.upper,
            entry=table.entry,
            covariates=table.covariates,
        )
    except DataError as error:
        raise DataError(f"{table.path}: {error}") from None


def parse_bytes(size: str | int) -> int:
    """Give a number of bytes: "1GB", "500 MB", "2GiB" or an integer."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", str(size))
    unit = UNITS.get(match[2].upper()) if match else None
    count = int(float(match[1]) * unit) if match and unit else 0
    if count < 1 or isinstance(size, bool):
        raise DataError(
            f'memory_limit is {size!r}: give a positive number of bytes, such as 500000000, "500 MB" or "2GiB"'
        )
    return count


def _streams(table: Table, limit: int) -> Any:
    folder = table.path.parent
    if len(set(table.files)) == 1:
        shared = _open(table, 0, folder, limit)
        if len(table.files) > 1 or (shared.shape[0] == 1 and len(shared.shape) > 1):
            return _one_file(table, shared, limit)
    return _file_each(table, [_open(table, place, folder, limit) for place in range(len(table.files))], limit)


def _open(table: Table, place: int, folder: Path, limit: int) -> ArrayFile:
    where = f"{table.path}, row {place + 1}, asset {table.ids[place]!r}"
    try:
        file = open_array(table.files[place], folder)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    n_bytes = int(np.prod(file.shape, dtype=np.int64)) * file.dtype.itemsize
    if not file.sliceable and n_bytes > limit:
        raise DataError(
            f"{where}: {file.name} can only be read whole, and its {n_bytes} bytes pass the memory limit of {limit}: "
            "save it as .npy or HDF5, which are read in parts, or raise memory_limit"
        )
    return file


def _one_file(table: Table, file: ArrayFile, limit: int) -> Any:
    count = len(table.ids)
    if len(file.shape) < 2 or file.shape[0] != count:
        raise DataError(
            f"{table.path} names one file for all its {count} rows, and {file.name} has shape {file.shape}: its first "
            f"axis is the asset, so it needs {count} entries there; or name a file for each row"
        )
    return LazyStreams.of(file, limit) if file.sliceable else file.read(0, count, file.shape[-1])


def _file_each(table: Table, files: list[ArrayFile], limit: int) -> Any:
    expected = files[0].shape
    for place, file in enumerate(files):
        if not file.shape or file.shape[:-1] != expected[:-1] or (len(expected) == 1 and file.shape != expected):
            raise DataError(
                f"{table.path}, row {place + 1}, asset {table.ids[place]!r}: {file.name} has shape {file.shape}, and "
                f"{files[0].name} of row 1 has {expected}: streams may differ in length (the last axis) only"
            )
    lengths = np.array([file.shape[-1] for file in files], dtype=np.intp)
    source = AssetFiles(tuple(files), lengths, np.result_type(*[file.dtype for file in files]))
    return RaggedStreams(source, np.arange(len(files)), limit)


# Saving


def save_fleet(fleet: Fleet, path: str | os.PathLike[str]) -> None:
    """Save a fleet as a folder that ``load_fleet`` reads.

    It holds ``fleet.csv``, ``streams.npy`` (or a folder of one ``.npy`` an asset where lengths differ), and
    ``times.csv`` where the fleet declares its clock. Streams are written block by block. The folder appears under its
    name only when it is complete.

    Raises
    ------
    DataError
        Where something is at ``path`` already, or an asset is in the fleet twice.
    """
    target = Path(path).absolute()
    columns.as_ids(fleet.ids, len(fleet))  # a bootstrap has repeated ids
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target} is there already: choose another name, or remove it first")
    names = [] if fleet.covariates is None else list(fleet.covariates.columns)
    reserved = [name for name in names if name.strip() in KNOWN]
    if reserved:
        raise DataError(f"a covariate is called {reserved[0]!r}, which the table uses itself: rename it")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.parent / f".{target.name}.{secrets.token_hex(4)}.unfinished"
    unfinished.mkdir()
    try:
        _write(fleet, unfinished)
        if target.exists():
            target.rmdir()
        os.replace(unfinished, target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(fleet: Fleet, folder: Path) -> None:
    files = _write_streams(fleet, folder)
    cells: dict[str, Iterable[Any]] = {"asset_id": fleet.ids.tolist(), "stream": files}
    unknown = [""] * len(fleet)
    cells["life"] = unknown if fleet.lives is None else fleet.lives.tolist()
    cells["event"] = unknown if fleet.events is None else fleet.events.astype(int).tolist()
    if fleet.upper is not None:
        cells["upper"] = ["" if np.isnan(value) else value for value in fleet.upper.tolist()]
    if fleet.entry is not None:
        cells["entry"] = fleet.entry.tolist()
    if fleet.covariates is not None:
        cells |= {str(name): fleet.covariates[name].tolist() for name in fleet.covariates.columns}
    if fleet.declares_clock:
        _write_times(fleet, folder / "times.csv")
    write_csv(folder / "fleet.csv", list(cells), zip(*cells.values(), strict=True))


def _write_times(fleet: Fleet, path: Path) -> None:
    if isinstance(fleet.times, list):
        ages = zip(fleet.ids.tolist(), fleet.times, strict=True)
        rows = ((name, image, age) for name, own in ages for image, age in enumerate(own.tolist(), 1))
        write_csv(path, ("asset_id", "image", "age"), rows)
    else:
        write_csv(path, ("age",), ([age] for age in fleet.times.tolist()))


def _write_streams(fleet: Fleet, folder: Path) -> list[str]:
    if not fleet.is_ragged:
        _write_npy(folder / "streams.npy", fleet)
        return ["streams.npy"] * len(fleet)
    (folder / "streams").mkdir()
    files = [f"streams/{place:05d}.npy" for place in range(1, len(fleet) + 1)]
    for file, stream in zip(files, fleet.streams, strict=True):
        np.save(folder / file, np.asarray(stream), allow_pickle=False)
    return files


def _write_npy(path: Path, fleet: Fleet) -> None:
    """Write a .npy file without holding more than a block of it."""
    dtype = fleet.dtype
    row_bytes = int(np.prod(fleet.stream_shape, dtype=np.int64)) * dtype.itemsize
    step = max(1, min(BLOCK_BYTES, fleet.memory_limit or BLOCK_BYTES) // row_bytes)
    header = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": fleet.shape}
    with path.open("wb") as file:
        npy_format.write_array_header_1_0(file, header)
        for start in range(0, len(fleet), step):
            np.ascontiguousarray(np.asarray(fleet[start : min(start + step, len(fleet))].streams), dtype).tofile(file)
