"""Values as JSON, exactly: what JSON has not is an object with one key that names its kind.

    None, bool, int, str, finite float    as they are (a float's repr reads back to the same bits, -0.0 too)
    list                                  [...]
    tuple, dict                           {"tuple": [...]}, {"dict": [[key, value], ...]}
    NaN and infinities                    {"float": "7ff8000000000000"}: the 64 bits
    NumPy scalar                          {"scalar": {"dtype": "<f8", "bits": "..."}}
    array of numbers or booleans          {"array": "mean_.npy"}: a member of the file
    object array of str                   {"names": {"shape": [3], "entries": [...]}}, column names
    DataFrame, its rows numbered          {"table": [["round", {"array": ...}], ["what", ["...", ...]]]}: a column is
                                          an array, or a list of str

Reading trusts nothing: whatever is not written above raises `MalformedError`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmpca.errors import DataError

__all__ = ["Arrays", "MalformedError", "as_dtype", "as_shape", "decode", "encode", "keys"]

Arrays = dict[str, NDArray[Any]]
SIZES = {"i": (2, 4, 8), "u": (2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
PLAIN = {f"|{kind}1" for kind in "biu"} | {
    f"{end}{kind}{size}" for end in "<>" for kind in SIZES for size in SIZES[kind]
}
"""Dtypes whose bytes mean the same on every machine: numbers and booleans, no objects, no long double."""

DEEPEST = 20
"""Lists within lists: more is a loop, or made to exhaust the reader's stack."""
LARGEST_INT = 2**1024


class MalformedError(Exception):
    """The file's contents are not what this page allows. The text completes "the file ..."."""


def encode(value: Any, name: str, arrays: Arrays, depth: int = 0) -> Any:
    """The value as JSON; its arrays go to `arrays`, named after `name`."""
    if depth > DEEPEST:
        raise DataError(f"{name} cannot be saved: it is nested more than {DEEPEST} deep.")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int and abs(value) < LARGEST_INT:
        return value
    if type(value) is float:
        return value if isfinite(value) else {"float": struct.pack(">d", value).hex()}
    if type(value) in (list, tuple):
        items = [encode(item, f"{name}.{place}", arrays, depth + 1) for place, item in enumerate(value)]
        return items if type(value) is list else {"tuple": items}
    if type(value) is dict:
        return {"dict": [_entry(item, f"{name}.{place}", arrays, depth) for place, item in enumerate(value.items())]}
    if type(value) is pd.DataFrame:
        return {"table": _encode_table(value, name, arrays, depth)}
    return _encode_array(value, name, arrays)


def _encode_table(table: pd.DataFrame, name: str, arrays: Arrays, depth: int) -> list[Any]:
    if not table.index.equals(pd.RangeIndex(len(table))) or not table.columns.is_unique:
        raise DataError(f"{name} cannot be saved: number the table's rows from 0, and give each column its own name.")
    columns: list[Any] = []
    for place, column in enumerate(table.columns):
        dtype = table.dtypes.iloc[place]
        cells = table.iloc[:, place]
        plain: Any = cells.to_numpy() if isinstance(dtype, np.dtype) and dtype.str in PLAIN else cells.tolist()
        if type(column) is not str or (type(plain) is list and not all(type(cell) is str for cell in plain)):
            raise DataError(f"{name} cannot be saved: its column {column!r} is neither of numbers nor of texts.")
        columns.append([column, encode(plain, f"{name}.{place}", arrays, depth + 1)])
    return columns


def _entry(item: tuple[Any, Any], name: str, arrays: Arrays, depth: int) -> list[Any]:
    key, value = item
    if type(key) not in (str, int, bool, float, tuple, type(None)):
        raise DataError(f"{name} cannot be saved: a dict's key is a {type(key).__name__}; use str, int or tuple.")
    return [encode(key, f"{name}.key", arrays, depth + 1), encode(value, f"{name}.value", arrays, depth + 1)]


def _encode_array(value: Any, name: str, arrays: Arrays) -> Any:
    if isinstance(value, np.generic) and value.dtype.str in PLAIN:
        return {"scalar": {"dtype": value.dtype.str, "bits": value.tobytes().hex()}}
    if type(value) is np.ndarray and value.dtype.str in PLAIN:
        arrays[f"{name}.npy"] = value
        return {"array": f"{name}.npy"}
    if type(value) is np.ndarray and value.dtype == object and all(type(entry) is str for entry in value.flat):
        return {"names": {"shape": list(value.shape), "entries": value.reshape(-1).tolist()}}
    kind = f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
    raise DataError(
        f"{name} cannot be saved: it is {kind}. A model file holds numbers, texts, None, lists, tuples, dicts and "
        "NumPy arrays of numbers, and tables: set it to one of these, or to its default."
    )


def as_dtype(text: Any) -> np.dtype[Any]:
    """The dtype that a file names."""
    if not isinstance(text, str) or text not in PLAIN:
        raise MalformedError(f"names dtype {str(text)[:20]!r}: only numbers and booleans are read, no objects")
    return np.dtype(text)


def as_shape(lengths: Any) -> tuple[int, ...]:
    """The shape that a file names; NumPy has up to 64 axes."""
    if not isinstance(lengths, list) or len(lengths) > 64 or not all(type(n) is int and n >= 0 for n in lengths):
        raise MalformedError("names a shape that is no list of lengths")
    return tuple(lengths)


def decode(value: Any, arrays: Arrays, depth: int = 0) -> Any:
    """The value behind its JSON."""
    if depth > DEEPEST:
        raise MalformedError(f"holds a value nested more than {DEEPEST} deep")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not isfinite(value):  # JSON's 1e999
            raise MalformedError("holds a number that no float64 can")
        return value
    if isinstance(value, list):
        return [decode(item, arrays, depth + 1) for item in value]
    kind, content = next(iter(value.items()), ("nothing", None))
    if len(value) != 1 or kind not in READERS:
        raise MalformedError(f"holds a value of unknown kind {kind[:40]!r}")
    return READERS[kind](content, arrays, depth)


def keys(value: Any, wanted: set[str], what: str) -> dict[str, Any]:
    """The value, where it is a JSON object with exactly these keys."""
    if not isinstance(value, dict) or set(value) != wanted:
        raise MalformedError(f"has no proper {what}: it should be an object with {', '.join(sorted(wanted))}")
    return value


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedError("holds a tuple, a dict, names or a table that is not written as a list")
    return value


def _tuple(content: Any, arrays: Arrays, depth: int) -> tuple[Any, ...]:
    return tuple(decode(item, arrays, depth + 1) for item in _items(content))


def _dict(content: Any, arrays: Arrays, depth: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for item in _items(content):
        if not isinstance(item, list) or len(item) != 2:
            raise MalformedError("holds a dict whose entries are not pairs")
        key = decode(item[0], arrays, depth + 1)
        try:
            found[key] = decode(item[1], arrays, depth + 1)
        except TypeError:
            raise MalformedError("holds a dict with a key that cannot be one") from None
    return found


def _float(content: Any, arrays: Arrays, depth: int) -> float:
    number: float = struct.unpack(">d", _bits(content, 8))[0]
    return number


def _scalar(content: Any, arrays: Arrays, depth: int) -> Any:
    scalar = keys(content, {"dtype", "bits"}, "NumPy scalar")
    dtype = as_dtype(scalar["dtype"])
    return np.frombuffer(_bits(scalar["bits"], dtype.itemsize), dtype)[0]


def _bits(text: Any, size: int) -> bytes:
    try:
        bits = bytes.fromhex(text)
    except (TypeError, ValueError):
        raise MalformedError("holds a number that is not written as hexadecimal digits") from None
    if len(bits) != size:
        raise MalformedError(f"holds a number of {len(bits)} bytes where {size} belong")
    return bits


def _array(content: Any, arrays: Arrays, depth: int) -> NDArray[Any]:
    if not isinstance(content, str) or content not in arrays:
        raise MalformedError("refers to an array that it does not hold")
    return arrays[content]


def _names(content: Any, arrays: Arrays, depth: int) -> NDArray[Any]:
    names = keys(content, {"shape", "entries"}, "array of names")
    shape, entries = as_shape(names["shape"]), _items(names["entries"])
    if not _is_texts(entries):
        raise MalformedError("holds an array of names with an entry that is no text")
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    try:
        return array.reshape(shape)
    except (ValueError, OverflowError):  # a shape of no entries can still be more than NumPy holds
        raise MalformedError("holds an array of names whose shape and entries do not agree") from None


def _table(content: Any, arrays: Arrays, depth: int) -> pd.DataFrame:
    found: dict[str, Any] = {}
    for item in _items(content):
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str) or item[0] in found:
            raise MalformedError("holds a table whose columns are not pairs of a name and values")
        cells = decode(item[1], arrays, depth + 1)
        is_column = cells.ndim == 1 if isinstance(cells, np.ndarray) else _is_texts(cells)
        if not is_column or len(cells) != len(next(iter(found.values()), cells)):
            raise MalformedError("holds a table with a column that is none, or too short")
        found[item[0]] = cells
    return pd.DataFrame(found)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


Reader = Callable[[Any, Arrays, int], Any]
READERS: dict[str, Reader] = {
    "tuple": _tuple,
    "dict": _dict,
    "float": _float,
    "scalar": _scalar,
    "array": _array,
    "names": _names,
    "table": _table,
}
