"""Masks cancel and look like noise; keys refuse what an attacker would send; hashes and boxes keep to their use."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from fedmpca.crypto.keys import Identity, SessionKey, enc, hash_of, mask_key, seal_box, verify
from fedmpca.crypto.masks import mask
from fedmpca.crypto.ring import to_bytes
from fedmpca.errors import ProtocolError


def entropy(seed=0):
    rng = np.random.default_rng(seed)  # of the tests alone: the package takes its entropy from the system
    return lambda count: rng.bytes(count)


def test_a_mask_is_the_aes_256_ctr_key_stream():
    y = np.zeros((20_000, 2), np.uint64)
    mask(y, bytes(range(32)), negative=False)
    stream = Cipher(algorithms.AES(bytes(range(32))), modes.CTR(bytes(16))).encryptor().update(bytes(16 * 20_000))
    assert to_bytes(y) == stream


def test_the_two_masks_of_a_pair_cancel():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2**64, size=(9_000, 2), dtype=np.uint64)
    before = y.copy()
    mask(y, b"k" * 32, negative=False)
    assert (y != before).mean() > 0.99
    mask(y, b"k" * 32, negative=True)
    assert (y == before).all()


def test_masked_numbers_are_uniform():
    """Each byte of masked zeros and of masked large numbers takes each value equally often."""
    for value in (0, 1, 2**64 - 1):
        y = np.full((100_000, 2), value, np.uint64)
        mask(y, b"some key of thirty-two bytes ...", negative=False)
        planes = np.frombuffer(to_bytes(y), np.uint8).reshape(-1, 16)
        for place in range(16):
            assert chisquare(np.bincount(planes[:, place], minlength=256)).pvalue > 1e-6


def test_both_ends_of_a_pair_have_the_same_key_and_nobody_else():
    a, b, c = SessionKey(entropy(1)), SessionKey(entropy(2)), SessionKey(entropy(3))
    assert a.shared_with(b.public) == b.shared_with(a.public)
    assert a.shared_with(b.public) != a.shared_with(c.public)
    shared = a.shared_with(b.public)
    assert len({mask_key(shared, sid, info) for sid in (b"s", b"t") for info in (enc("mask", 1), enc("mask", 2))}) == 4


LOW_ORDER = [
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    2**255 - 20,  # p - 1
]


@pytest.mark.parametrize("number", LOW_ORDER)
def test_keys_of_low_order_are_refused(number):
    with pytest.raises(ProtocolError, match="low order"):
        SessionKey(entropy()).shared_with(number.to_bytes(32, "little"))


@pytest.mark.parametrize("number", [2**255 - 19, 2**255 - 18, 2**255 + 9, 2**256 - 1])
def test_keys_that_are_not_canonical_are_refused(number):
    with pytest.raises(ProtocolError, match="canonically"):
        SessionKey(entropy()).shared_with(number.to_bytes(32, "little"))
    with pytest.raises(ProtocolError, match="canonically"):
        seal_box(b"", number.to_bytes(32, "little"), b"")


def test_an_erased_key_does_nothing():
    key = SessionKey(entropy())
    key.erase()
    with pytest.raises(ProtocolError, match="erased"):
        key.shared_with(SessionKey(entropy(1)).public)


def test_a_signature_belongs_to_one_party_and_one_text():
    ours, theirs = Identity.new(entropy(1)), Identity.new(entropy(2))
    signature = ours.sign(b"text")
    verify(ours.public, b"text", signature)
    for public, text, signed in (
        (theirs.public, b"text", signature),
        (ours.public, b"texts", signature),
        (ours.public, b"text", bytes(64)),
        (b"short", b"text", signature),
        (ours.public, b"text", signature[:-1]),
    ):
        with pytest.raises(ProtocolError, match="does not belong"):
            verify(public, text, signed)
    assert Identity(ours.secret_bytes()).public == ours.public


items = st.lists(st.one_of(st.binary(max_size=9), st.text(max_size=9), st.integers(0, 2**64 - 1)), max_size=4)


@given(items, items)
def test_no_two_lists_of_items_have_the_same_bytes(a, b):
    def parts(listed):
        return [x.encode() if isinstance(x, str) else x.to_bytes(8, "big") if isinstance(x, int) else x for x in listed]

    assert (enc(*a) == enc(*b)) == (parts(a) == parts(b))


def test_minus_zero_is_zero_and_labels_tell_apart():
    assert enc(-0.0) == enc(0.0)
    assert hash_of("ctx", b"x") != hash_of("sid", b"x")
    assert len(hash_of("ctx")) == 32


def test_a_box_opens_for_its_owner_its_use_and_unchanged_only():
    owner, other = SessionKey(entropy(1)), SessionKey(entropy(2))
    sealed = seal_box(b"content", owner.public, b"use")
    assert owner.open_box(sealed, b"use") == b"content"
    assert seal_box(b"content", owner.public, b"use") != sealed
    for key, text, info in (
        (other, sealed, b"use"),
        (owner, sealed, b"another use"),
        (owner, sealed[:-1] + bytes([sealed[-1] ^ 1]), b"use"),
        (owner, b"", b"use"),
    ):
        with pytest.raises(ProtocolError, match="cannot be opened"):
            key.open_box(text, info)
