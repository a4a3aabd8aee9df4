"""Mask streams: AES-256-CTR, one key one stream, added to a ring vector as it is made."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from fedmpca.crypto.ring import ENTRY_BYTES, add, subtract

__all__ = ["KEY_BYTES", "mask"]

KEY_BYTES = 32
CHUNK = 2**13
"""Entries made at a time: 128 kB, so that the stream is added while it is in cache."""
ZEROS = bytes(ENTRY_BYTES * CHUNK)


def mask(y: NDArray[np.uint64], key: bytes, *, negative: bool) -> None:
    """y += stream(key), or y -= stream(key); the two of a pair cancel. A key is used for one vector, ever.

    The counter starts at 0: with a key that is never used again no other nonce is needed.
    """
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    made = bytearray(len(ZEROS))
    elements = np.frombuffer(made, "<u8").reshape(CHUNK, 2)
    combine = subtract if negative else add
    for start in range(0, len(y), CHUNK):
        part = y[start : start + CHUNK]
        stream.update_into(memoryview(ZEROS)[: ENTRY_BYTES * len(part)], made)
        combine(part, elements[: len(part)])
