"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fedmpca.errors import DataError

__all__ = ["check_writable", "write_whole"]


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, where a file can be put; so that a long computation does not find out at its end."""
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target} is a folder: give the path of a file to write.")
    if not target.parent.is_dir():
        raise DataError(f"{target} cannot be written: there is no folder {target.parent}. Create it first.")
    return target


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in the place of `path` in one step."""
    target = check_writable(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        try:
            with open(partial, "xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
        finally:  # gone already where it was put in place; else nothing half-written stays, after Ctrl-C neither
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}.") from error
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can be asked to (Windows cannot)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
