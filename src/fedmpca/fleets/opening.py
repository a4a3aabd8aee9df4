"""What opening any file has in common: one kind of error, libraries that may be absent, never a Python object."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fedmpca.errors import DataError, MissingExtraError
from fedmpca.fleets.checks import numeric_dtype

__all__ = ["choose", "optional", "reading", "refuse_odd_dtype"]


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever a library says about a bad file into one error that names the file."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except Exception as error:  # readers of foreign formats raise almost anything
        text = " ".join(str(error).split())
        raise DataError(
            f"{name} cannot be read ({type(error).__name__}: {text}): write the file again, or leave its asset out"
        ) from error


def optional(module: str, what: str) -> Any:
    """Import a library of the extra ``formats``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f'{what} needs {library}, which is not installed: pip install "fedmpca[formats]"'
        ) from error


def choose(wanted: str, names: list[str], file: str) -> str:
    """Give the array that was named after ``::``, or the only one there is."""
    if wanted in names or (not wanted and len(names) == 1):
        return wanted or names[0]
    asked = f"has no array {wanted!r}" if wanted else f"holds {len(names)} arrays"
    listed = ", ".join(repr(name) for name in names[:10]) or "none"
    raise DataError(f"{file} {asked}: name one of those it has ({listed}) as {Path(file).name}::NAME")


def refuse_odd_dtype(dtype: np.dtype[Any], name: str) -> None:
    """Numbers and booleans only; Python objects would have to be unpickled, which runs code."""
    if dtype.hasobject:
        raise DataError(
            f"{name} holds Python objects (dtype {dtype}), which are never unpickled: save it as an array of numbers"
        )
    numeric_dtype(np.empty(0, dtype), f"the values of {name}")
