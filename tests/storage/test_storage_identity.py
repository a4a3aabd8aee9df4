"""A party's identity on disk: its key is for its owner alone, and nothing else passes for one."""

import os

import pytest

from fedmpca.crypto.keys import Identity
from fedmpca.errors import DataError
from fedmpca.storage.identity import read_identity, read_public_key, write_identity


@pytest.fixture
def identity():
    return Identity(bytes(range(32)))


def test_an_identity_comes_back(identity, tmp_path):
    write_identity(identity, tmp_path / "north", "north plant")
    again = read_identity(tmp_path / "north")
    assert again.public == identity.public
    assert again.secret_bytes() == identity.secret_bytes()
    digits = identity.public.hex()
    for given in (tmp_path / "north", tmp_path / "north" / "identity.pub", digits):
        assert read_public_key(str(given)) == digits
    assert (tmp_path / "north" / "identity.pub").read_text() == f"{digits} north plant\n"
    assert sorted(os.listdir(tmp_path / "north")) == ["identity.key", "identity.pub"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_the_key_is_its_owners_alone(identity, tmp_path):
    old = os.umask(0)
    try:
        write_identity(identity, tmp_path)
    finally:
        os.umask(old)
    path = tmp_path / "identity.key"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(DataError, match=r"can be read by others.*chmod 600"):
        read_identity(tmp_path)


def test_an_identity_is_never_overwritten(identity, tmp_path):
    write_identity(identity, tmp_path)
    with pytest.raises(DataError, match=r"identity.key is there already"):
        write_identity(Identity(bytes(32)), tmp_path)
    assert read_identity(tmp_path).public == identity.public


@pytest.mark.parametrize(
    "text", ["", "fedmpca identity 1\n", "fedmpca identity 2\n" + "0" * 64 + "\n", "0" * 64, "x\ny\nz"]
)
def test_what_is_no_identity(text, tmp_path):
    path = tmp_path / "identity.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(DataError, match="no identity of this package"):
        read_identity(tmp_path)
    (tmp_path / "identity.pub").write_text("not a key\n")
    with pytest.raises(DataError, match="holds no public key"):
        read_public_key(str(tmp_path))
    with pytest.raises(DataError, match="cannot be read"):
        read_public_key("A" * 64)
