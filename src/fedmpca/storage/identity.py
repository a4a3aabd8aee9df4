"""A party's identity on disk: `identity.key`, which its owner alone may read, and `identity.pub` for everybody."""

from __future__ import annotations

import os
from pathlib import Path

from fedmpca.crypto.keys import Identity
from fedmpca.errors import DataError
from fedmpca.storage.atomic import write_whole

__all__ = ["KEY_FILE", "PUBLIC_FILE", "read_identity", "read_public_key", "write_identity"]

KEY_FILE = "identity.key"
PUBLIC_FILE = "identity.pub"
HEADING = "fedmpca identity 1"
DIGITS = 64


def write_identity(identity: Identity, folder: str | os.PathLike[str], name: str = "") -> None:
    """Write both files to a folder that has neither: an identity that is overwritten is lost for good."""
    target = Path(folder)
    for file in (KEY_FILE, PUBLIC_FILE):
        if (target / file).exists():
            raise DataError(f"{target / file} is there already: give another folder, or keep this identity.")
    target.mkdir(parents=True, exist_ok=True)
    key = f"{HEADING}\n{identity.secret_bytes().hex()}\n".encode("ascii")
    public = f"{identity.public.hex()} {name}".strip().encode("utf-8") + b"\n"
    write_whole(target / KEY_FILE, lambda file: file.write(key), private=True)
    write_whole(target / PUBLIC_FILE, lambda file: file.write(public))


def read_identity(folder: str | os.PathLike[str]) -> Identity:
    """The identity in a folder. A key file that others may read is refused."""
    path = Path(folder) / KEY_FILE
    lines = _text(path).split("\n")
    if lines[0] != HEADING or len(lines) != 3 or not _is_key(lines[1]):
        raise DataError(f"{path} is no identity of this package: `fedmpca identity new` makes one.")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise DataError(f"{path} can be read by others: make it yours alone with `chmod 600 {path}`.")
    return Identity(bytes.fromhex(lines[1]))


def read_public_key(given: str) -> str:
    """A public key's digits, given themselves or by the file (or the folder with the file) that has them."""
    if _is_key(given):
        return given
    path = Path(given)
    path = path / PUBLIC_FILE if path.is_dir() else path
    digits = _text(path).split(" ")[0].strip()
    if not _is_key(digits):
        raise DataError(f"{path} holds no public key: give the {PUBLIC_FILE} that `fedmpca identity new` wrote.")
    return digits


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise DataError(f"{path} cannot be read: {reason}.") from error


def _is_key(text: str) -> bool:
    return len(text) == DIGITS and set(text) <= set("0123456789abcdef")
