"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fedmpca.errors import DataError

__all__ = ["check_folder", "check_writable", "write_whole"]


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, where a file can be put; so that a long computation does not find out at its end."""
    target = Path(path)
    with _refusals(target):
        if target.is_dir():
            raise DataError(f"{target} is a folder: give the path of a file to write.")
        if target.exists() and not target.is_file():  # a device would be replaced by a file
            raise DataError(f"{target} is no ordinary file, and would be replaced by one: give another path.")
        if not target.parent.is_dir():
            raise DataError(f"{target} cannot be written: there is no folder {target.parent}. Create it first.")
        _check_permission(target, target.parent)
    return target


def check_folder(path: str | os.PathLike[str]) -> Path:
    """The path, where a folder is or can be made."""
    folder = Path(path)
    with _refusals(folder):
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        if not there.is_dir():
            raise DataError(f"{folder} can be no folder, since {there} is a file: give another path.")
        _check_permission(folder, there)
    return folder


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], *, private: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in the place of `path` in one step.

    A private file can be read by its owner alone, from its first moment on.
    """
    target = check_writable(path)
    partial = target.with_name(f".{secrets.token_hex(8)}.partial")  # short: the target's own name may be the longest
    with _refusals(target):
        try:
            with open(partial, "xb", opener=_private if private else None) as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
        finally:  # gone already where it was put in place; else nothing half-written stays, after Ctrl-C neither
            partial.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Turn what the system refuses into our error, which names the path."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error


def _check_permission(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK):
        raise DataError(f"{path} cannot be written: no permission to write to {folder}. Choose another folder.")


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system lets us ask for it. The file is in place by now."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    with suppress(OSError):  # a folder that may be written and not read, a file system without this
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
