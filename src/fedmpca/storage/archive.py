"""The zip behind a model file: what is written, and what is checked before it is believed.

Members are stored, `model.json` first, then a `.npy` for each array. `model.json` has the dtype, shape, order and
SHA-256 of every array, and the zip's comment has the SHA-256 of `model.json`; so every byte that matters is under a
checksum. That finds damage and careless edits. It is no signature: who can write the file can make another model of
it; but what a forged model can do is give wrong features, not run code.

The same contents give the same bytes: names, order and timestamps are fixed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
from math import prod
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fedmpca.storage.values import Arrays, MalformedError, as_dtype, as_shape, keys

__all__ = ["AGAIN", "MANIFEST", "read_archive", "write_archive"]

MANIFEST = "model.json"
AGAIN = "get it again from where it was saved"
UTF8_NAME = 0x800
"""The one flag of a zip's member that our own may have: its name is not all ASCII."""


def write_archive(file: IO[bytes], manifest: dict[str, Any], arrays: Arrays) -> None:
    """Write the manifest, with a description of each array added, and the arrays."""
    members = {name: _as_npy(array) for name, array in sorted(arrays.items())}
    described = {name: _describe(arrays[name], member) for name, member in members.items()}
    text = json.dumps({**manifest, "arrays": described}, indent=1, allow_nan=False).encode("ascii")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {MANIFEST: text, **members}.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # the same bytes on every system
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
        archive.comment = _comment(text)


def read_archive(file: IO[bytes]) -> tuple[dict[str, Any], Arrays]:
    """The manifest without its description of arrays, and the arrays; every checksum compared."""
    size = os.fstat(file.fileno()).st_size
    try:
        if not zipfile.is_zipfile(file):
            raise MalformedError("is empty: " + AGAIN if size == 0 else "is no model file, or was cut short: " + AGAIN)
        with zipfile.ZipFile(file) as archive:
            _check_entries(archive, size)
            manifest = _manifest(archive)
            described = _descriptions(archive, manifest)
            return manifest, {name: _array(archive, name, claimed) for name, claimed in described.items()}
    except (
        zipfile.BadZipFile,
        struct.error,
        EOFError,
        NotImplementedError,
        OverflowError,
        RuntimeError,
        ValueError,
    ) as e:
        raise MalformedError(f"is damaged ({str(e) or type(e).__name__}): {AGAIN}") from e


def _as_npy(array: NDArray[Any]) -> bytes:
    """The array in NumPy's format, by rows, or by columns where it lies so.

    Products of a matrix that lies by columns take another way through BLAS: so that a loaded model gives the same
    bits, the order is kept.
    """
    member = io.BytesIO()
    np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    return member.getvalue()


def _describe(array: NDArray[Any], member: bytes) -> dict[str, Any]:
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "fortran_order": array.flags.f_contiguous and not array.flags.c_contiguous,
        "sha256": hashlib.sha256(member).hexdigest(),
    }


def _comment(text: bytes) -> bytes:
    return b"model.json has SHA-256 " + hashlib.sha256(text).hexdigest().encode("ascii")


def _check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Members are stored as they are, so together they are no larger than the file: nothing in it can swell."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if MANIFEST not in names:
        raise MalformedError(f"is a zip without {MANIFEST}, so no model file of this package: check the path")
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & ~UTF8_NAME for entry in entries):
        raise MalformedError(f"was packed by another tool, or tampered with: {AGAIN}")
    if len(set(names)) != len(names) or sum(entry.file_size for entry in entries) > size:
        raise MalformedError(f"holds members twice, or larger than itself; damaged, or made to harm: {AGAIN}")


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    text = archive.read(MANIFEST)
    if archive.comment != _comment(text):
        raise MalformedError(f"was changed after it was saved ({MANIFEST} does not match its checksum): {AGAIN}")
    try:
        manifest = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"has a {MANIFEST} that cannot be read, so this package did not write it") from error
    if not isinstance(manifest, dict):
        raise MalformedError(f"has a {MANIFEST} that is no object, so this package did not write it")
    return manifest


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _descriptions(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> dict[str, Any]:
    described = manifest.pop("arrays", None)
    if not isinstance(described, dict) or {MANIFEST, *described} != set(archive.namelist()):
        raise MalformedError(f"lacks an array that it lists, or has one that it does not list: {AGAIN}")
    return described


def _array(archive: zipfile.ZipFile, name: str, claimed: Any) -> NDArray[Any]:
    """An array of the file, in memory of its own. Its header must be what the description says, and is not parsed."""
    entry = keys(claimed, {"dtype", "shape", "fortran_order", "sha256"}, f"description of {name}")
    dtype, shape, by_columns = as_dtype(entry["dtype"]), as_shape(entry["shape"]), entry["fortran_order"] is True
    member = archive.read(name)
    if hashlib.sha256(member).hexdigest() != entry["sha256"]:
        raise MalformedError(f"was changed after it was saved ({name} does not match its checksum): {AGAIN}")
    start = 10 + int.from_bytes(member[8:10], "little")
    header = f"{{'descr': {dtype.str!r}, 'fortran_order': {by_columns}, 'shape': {shape!r}, }}".encode("ascii")
    if member[:8] != b"\x93NUMPY\x01\x00" or member[10:start].rstrip(b" \n") != header:
        raise MalformedError(f"has a {name} that is not what {MANIFEST} says: this package did not write it")
    if len(member) - start != prod(shape) * dtype.itemsize:
        raise MalformedError(f"has {len(member) - start} bytes in {name}, which its shape cannot have: {AGAIN}")
    return np.frombuffer(member, dtype, offset=start).reshape(shape, order="F" if by_columns else "C").copy("A")
