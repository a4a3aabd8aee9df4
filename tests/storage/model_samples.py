"""Fitted models to save, what it means that two are the same, and model files made by hand with valid checksums."""

import copy
import hashlib
import json
import zipfile

import numpy as np
import pandas as pd

import fedmpca as fm


def streams(assets=8, shape=(4, 3, 5), seed=0):
    return np.random.default_rng(seed).normal(size=(assets, *shape))


def small():
    """As few bytes as a model file can have: for going through all of them."""
    return fm.MPCA(ranks=(1,)).fit(streams(5, (2,)))


def federation():
    members = {f"user-{k}": fm.Fleet(streams(4, seed=k)) for k in (1, 2, 3)}
    return fm.Federation.in_process(members)


def fitted():
    """Models of every kind that `fit` and the parameters allow."""
    table = pd.DataFrame(streams(6, (3,)), columns=["x", "größe", "z"])
    return {
        "a table": fm.MPCA(flatten=True).fit(streams(6, (3,))),
        "a table with names": fm.MPCA(variance_kept=0.5).set_output(transform="pandas").fit(table),
        "maps": fm.MPCA(ranks=[2, 1]).fit(streams(6, (4, 3))),
        "images": fm.MPCA(ranks=(2, 3, 1), tol=0, max_iter=3).fit(streams()),
        "images, ranks as an array": fm.MPCA(ranks=np.array([2, 2, 2]), max_iter=np.int64(40)).fit(streams()),
        "four modes": fm.MPCA(variance_kept=0.6, tol=float("inf"), device="cpu").fit(streams(9, (2, 3, 2, 4))),
        "a federation": fm.MPCA(ranks=(2, 1, 2)).fit(federation()),
        "a fleet": fm.MPCA(variance_kept=np.float32(0.9)).fit(fm.Fleet(streams().astype("float32"))),
    }


def same_value(a, b):
    """Equal to the bit, and of the same kind."""
    assert type(a) is type(b)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
        return True
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    return repr(a) == repr(b)  # tells 0.0 from -0.0, and finds NaN equal to NaN


def same_model(a, b):
    """The same class, parameters and learnt attributes."""
    assert type(a) is type(b)
    assert vars(a).keys() == vars(b).keys()
    assert all(same_value(value, vars(b)[name]) for name, value in vars(a).items())
    return True


def contents(path):
    """The manifest of a model file, and its other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def forged(path, manifest, members, *, text=None, pack=None):
    """Write a model file whose every checksum is right, whatever it holds."""
    manifest = copy.deepcopy(manifest)
    for name, member in members.items():
        if isinstance(manifest.get("arrays"), dict) and isinstance(manifest["arrays"].get(name), dict):
            manifest["arrays"][name]["sha256"] = hashlib.sha256(member).hexdigest()
    text = json.dumps(manifest).encode() if text is None else text
    pack = pack or (lambda archive, all_members: [archive.writestr(*member) for member in all_members.items()])
    with zipfile.ZipFile(path, "w") as archive:
        pack(archive, {"model.json": text, **members})
        archive.comment = b"model.json has SHA-256 " + hashlib.sha256(text).hexdigest().encode()
    return path


def npy(shape, dtype="<f8", data=b""):
    """A .npy member whose header says what it likes."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data
