"""The tables beside the streams: ``fleet.csv`` or ``fleet.parquet``, and ``times.csv``. Rows are counted from 1."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets.opening import optional

__all__ = ["KNOWN", "Table", "find_table", "read_table", "read_times", "write_csv"]

Floats = NDArray[np.float64]
Cells = dict[str, list[str]]

KNOWN = ("asset_id", "stream", "life", "event", "upper", "entry")
YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false")


@dataclass(frozen=True)
class Table:
    """What a fleet's table says, a row an asset."""

    path: Path
    ids: list[str]
    files: list[str]
    lives: Floats | None
    events: Floats | None
    upper: Floats | None
    entry: Floats | None
    covariates: pd.DataFrame | None


def find_table(path: Path) -> Path:
    """Give the table of a folder, or the table itself."""
    if not path.exists():
        raise DataError(f"{path} is not there: give a folder with fleet.csv or fleet.parquet, or such a table")
    if path.is_file():
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise DataError(f"{path} is no table: give a folder with fleet.csv or fleet.parquet, or such a table")
        return path
    there = [path / name for name in ("fleet.csv", "fleet.parquet") if (path / name).is_file()]
    if len(there) != 1:
        which = (
            "both fleet.csv and fleet.parquet: name the one to use"
            if there
            else "neither fleet.csv nor fleet.parquet: write one"
        )
        raise DataError(f"{path} holds {which}")
    return there[0]


def read_table(path: Path, covariates: Sequence[str]) -> Table:
    """Read and check a fleet's table; the fleet itself checks the values against each other."""
    cells = _parquet_cells(path) if path.suffix.lower() == ".parquet" else _csv_cells(path)
    missing = [name for name in ("asset_id", "stream") if name not in cells]
    if missing:
        raise DataError(
            f"{path} has no column {missing[0]!r}, only {', '.join(cells)}: every asset has an id and a stream"
        )
    if not cells["asset_id"]:
        raise DataError(f"{path} has no rows: a fleet has at least one asset")
    lives = _lives(path, cells)
    return Table(
        path=path,
        ids=cells["asset_id"],
        files=cells["stream"],
        lives=lives,
        events=None if lives is None else _events(path, cells),
        upper=_numbers(path, cells, "upper"),
        entry=_numbers(path, cells, "entry"),
        covariates=_covariates(path, cells, covariates),
    )


def _csv_cells(path: Path) -> Cells:
    rows = _csv_rows(path)
    if not rows:
        raise DataError(f"{path} is empty: its first line names the columns, {', '.join(KNOWN)}")
    header = [name.strip() for name in rows[0]]
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise DataError(f"{path} has two columns {repeated[0]!r}: keep one of them")
    for place, row in enumerate(rows[1:], 1):
        if len(row) != len(header):
            raise DataError(
                f"{path}, row {place}, has {len(row)} cells for {len(header)} columns: quote cells that hold commas"
            )
    return {name: [row[column] for row in rows[1:]] for column, name in enumerate(header)}


def _csv_rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a table ({error}): save it as CSV with commas, in UTF-8") from error


def _parquet_cells(path: Path) -> Cells:
    optional("pyarrow", f"reading {path.name}")
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as Parquet ({error}): write it again, or use CSV") from error
    return {str(name): [_text(value) for value in frame[name].tolist()] for name in frame.columns}


def _text(value: Any) -> str:
    if value is None or value is pd.NA or value != value:  # NaN differs from itself
        return ""
    return str(value)


def _numbers(path: Path, cells: Cells, name: str) -> Floats | None:
    """Give a column as numbers, NaN where a cell is empty; None where all are, or there is no such column."""
    values = np.full(len(cells["asset_id"]), np.nan)
    for place, cell in enumerate(cells.get(name, [])):
        try:
            values[place] = float(cell) if cell.strip() else np.nan
        except ValueError:
            raise DataError(
                f"{_row(path, cells, place)}: {name} is {cell!r}, not a number: correct it, or leave the cell empty"
            ) from None
    return None if np.isnan(values).all() else values


def _row(path: Path, cells: Cells, place: int) -> str:
    return f"{path}, row {place + 1}, asset {cells['asset_id'][place]!r}"


def _lives(path: Path, cells: Cells) -> Floats | None:
    lives = _numbers(path, cells, "life")
    if lives is not None and (unknown := np.flatnonzero(np.isnan(lives))).size:
        rows = ", ".join(str(place + 1) for place in unknown[:5]) + (" ..." if unknown.size > 5 else "")
        raise DataError(
            f"{path} has no life in {unknown.size} of {len(lives)} rows ({rows}): lives are known for all assets or "
            "for none. Give the age now with event 0 where an asset is still running, 0 with an upper end where it "
            "is left-censored"
        )
    return lives


def _events(path: Path, cells: Cells) -> Floats | None:
    if "event" not in cells or not any(cell.strip() for cell in cells["event"]):
        return None
    events = np.empty(len(cells["event"]))
    for place, cell in enumerate(cells["event"]):
        word = cell.strip().lower()
        if word not in YES + NO:
            raise DataError(f"{_row(path, cells, place)}: event is {cell!r}: write 1 (failed) or 0 (still running)")
        events[place] = word in YES
    return events


def _covariates(path: Path, cells: Cells, names: Sequence[str]) -> pd.DataFrame | None:
    columns: dict[str, Floats] = {}
    for name in names:
        if name in KNOWN or name not in cells:
            further = ", ".join(column for column in cells if column not in KNOWN) or "none"
            raise DataError(f"{path} has no further column {name!r} to be a covariate; it has: {further}")
        values = _numbers(path, cells, name)
        columns[name] = np.full(len(cells["asset_id"]), np.nan) if values is None else values
    return pd.DataFrame(columns) if columns else None


# Ages of the images


def read_times(path: Path, ids: Sequence[str]) -> Floats | list[Floats] | None:
    """Read ``times.csv``: one age a line, or columns asset_id, image, age; None where there is no such file."""
    if not path.exists():
        return None
    rows = _csv_rows(path)
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if header == ["asset_id", "image", "age"]:
        return _own_times(path, rows[1:], ids)
    if any(len(row) != 1 for row in rows):
        raise DataError(
            f"{path} has columns {', '.join(header)}: write one age a line, or columns asset_id, image, age"
        )
    lines = rows[1:] if header == ["age"] else rows
    return np.array([_age(path, place, row[0]) for place, row in enumerate(lines, 1)])


def _age(path: Path, place: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise DataError(f"{path}, row {place}: the age is {cell!r}, not a number: correct it") from None


def _own_times(path: Path, rows: list[list[str]], ids: Sequence[str]) -> list[Floats]:
    ages: dict[str, list[float]] = {name: [] for name in ids}
    for place, row in enumerate(rows, 1):
        if len(row) != 3 or row[0] not in ages:
            raise DataError(
                f"{path}, row {place}, {row}: give an asset of the fleet, the number of its image, and the age"
            )
        own = ages[row[0]]
        if row[1].strip() != str(len(own) + 1):
            raise DataError(
                f"{path}, row {place}: image {row[1]!r} of asset {row[0]!r} follows image {len(own)}: number them 1, "
                "2, 3, ..."
            )
        own.append(_age(path, place, row[2]))
    return [np.array(ages[name]) for name in ids]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; floats to the last bit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
