"""Keys and hashes: Ed25519 identities, X25519 pairs of one session, HKDF, and hashes of items that cannot be confused.

Everything is done by `cryptography`; here is only what is signed and hashed, and in which form. A failed check raises.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedmpca.errors import ProtocolError

__all__ = [
    "HASH_BYTES",
    "SIGNATURE_BYTES",
    "Entropy",
    "Identity",
    "SessionKey",
    "enc",
    "hash_of",
    "mask_key",
    "open_box",
    "seal_box",
    "verify",
]

HASH_BYTES = 32
KEY_BYTES = 32
SIGNATURE_BYTES = 64
P25519 = 2**255 - 19
BOX = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)

Entropy = Callable[[int], bytes]
"""Gives so many unpredictable bytes: `secrets.token_bytes`, and in tests a stream that repeats."""
Item = str | bytes | int | float


def enc(*items: Item) -> bytes:
    """The items as bytes, each behind its length, so that no two lists of items have the same bytes."""
    return b"".join(struct.pack(">Q", len(text)) + text for text in map(_item, items))


def _item(item: Item) -> bytes:
    if isinstance(item, str):
        return item.encode("utf-8")
    if isinstance(item, int):
        return struct.pack(">Q", item)
    if isinstance(item, float):
        return struct.pack(">d", item + 0.0)  # -0 + 0 is 0
    return item


def hash_of(label: str, *items: Item) -> bytes:
    """H(label, ...) = SHA-256(enc(label, ...)). The label says what is hashed, so that nothing passes for another."""
    return hashlib.sha256(enc(label, *items)).digest()


class Identity:
    """A party's Ed25519 key: it signs labelled protocol messages, and nothing else, ever."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()

    @classmethod
    def new(cls, entropy: Entropy) -> Identity:
        """A new identity."""
        return cls(entropy(KEY_BYTES))

    def secret_bytes(self) -> bytes:
        """What must never leave the party: for its own key file."""
        return self._key.private_bytes_raw()

    def sign(self, text: bytes) -> bytes:
        """The signature of a message, which begins with its label."""
        return self._key.sign(text)


def verify(public: bytes, text: bytes, signature: bytes) -> None:
    """Return only where this party signed this text."""
    try:
        _public_key(public).verify(signature, text)
    except (InvalidSignature, ValueError) as wrong:
        raise ProtocolError("A signature does not belong to its message.") from wrong


@lru_cache(1024)
def _public_key(public: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public)


class SessionKey:
    """A party's X25519 key of one session. It lives in memory and is erased at the session's end."""

    def __init__(self, entropy: Entropy) -> None:
        self._key: X25519PrivateKey | None = X25519PrivateKey.from_private_bytes(entropy(KEY_BYTES))
        self.public = self._key.public_key().public_bytes_raw()

    def shared_with(self, public: bytes) -> bytes:
        """The secret shared with the owner of a public key. Keys of low order, which give zero, are refused."""
        check_public(public)
        try:
            return self._secret().exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError as low_order:
            raise ProtocolError("A session key is of low order: it would share a secret with everybody.") from low_order

    def open_box(self, sealed: bytes, info: bytes) -> bytes:
        """What was sealed to this key under this info."""
        return open_box(sealed, self._secret(), info)

    def erase(self) -> None:
        """Forget the key: from now on nothing can be unmasked or opened with it."""
        self._key = None

    def _secret(self) -> X25519PrivateKey:
        if self._key is None:
            raise ProtocolError("The session has ended, and its key is erased.")
        return self._key


def check_public(public: bytes) -> None:
    """Refuse encodings that another key has too: a number of 2^255 - 19 or more."""
    if len(public) != KEY_BYTES or int.from_bytes(public, "little") >= P25519:
        raise ProtocolError("A session key is not written canonically.")


def mask_key(shared: bytes, sid: bytes, info: bytes) -> bytes:
    """The key of one mask stream: HKDF-SHA256 of a pair's secret, salted by the session, for one use (`info`)."""
    return HKDF(SHA256(), KEY_BYTES, salt=sid, info=info).derive(shared)


def seal_box(content: bytes, public: bytes, info: bytes) -> bytes:
    """HPKE (X25519, HKDF-SHA256, ChaCha20-Poly1305): only the key's owner can open it, and only under this info."""
    check_public(public)
    return BOX.encrypt(content, X25519PublicKey.from_public_bytes(public), info=info)


def open_box(sealed: bytes, key: X25519PrivateKey, info: bytes) -> bytes:
    """What was sealed; a box that was changed, or sealed for another use, is refused."""
    try:
        return BOX.decrypt(sealed, key, info=info)
    except (InvalidTag, ValueError) as wrong:
        raise ProtocolError("A sealed box cannot be opened: it was changed, or is for another use.") from wrong
