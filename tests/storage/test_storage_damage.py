"""Whatever happened to a model file, `load` gives the model that was saved or an error that names the file."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_samples import contents, same_model, small

import fedmpca as fm
from fedmpca.errors import DataError, FedMPCAError, ModelFileError

MODEL = small()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.fedmpca"
    fm.save(MODEL, path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fedmpca"


def refused(path):
    """Whether the file is refused by its name; else it must hold the very model."""
    try:
        return not same_model(fm.load(path), MODEL)
    except ModelFileError as error:
        text = str(error)
        assert text.startswith(f"{path} ")
        assert text.endswith(".")
        assert "\n" not in text
        return True


def flip(saved, place, bit):
    return saved[:place] + bytes([saved[place] ^ 1 << bit]) + saved[place + 1 :]


def test_every_truncation_is_found(saved, path):
    for length in range(len(saved)):
        path.write_bytes(saved[:length])
        assert refused(path), length


def flips_found(saved, path, bits):
    """For each byte, whether each of its flips was refused."""
    found = []
    for place in range(len(saved)):
        for bit in bits(place):
            path.write_bytes(flip(saved, place, bit))
            found.append((place, refused(path)))
    return found


def meaningful(saved, path):
    """The bytes of all members: what the model is made of, every one of them under a checksum."""
    path.write_bytes(saved)
    _, members = contents(path)
    with zipfile.ZipFile(path) as archive:
        members["model.json"] = archive.read("model.json")
    starts = {name: saved.index(member) for name, member in members.items()}
    return {start + k for name, start in starts.items() for k in range(len(members[name]))}


def check(saved, path, bits):
    found = flips_found(saved, path, bits)
    missed = {place for place, was_refused in found if not was_refused}
    inside = meaningful(saved, path)
    assert len(inside) > 2000
    assert not missed & inside
    assert len(missed) < 0.12 * len(saved)  # timestamps and the like, which mean nothing


def test_a_flip_of_every_byte_is_found_or_means_nothing(saved, path):
    check(saved, path, lambda place: [place % 8])


@pytest.mark.slow
def test_every_flip_of_every_byte_is_found_or_means_nothing(saved, path):
    check(saved, path, lambda place: range(8))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_pieces_overwritten_moved_or_put_in(data, saved, path):
    place = st.integers(0, len(saved))
    start, stop, where = *sorted([data.draw(place), data.draw(place)]), data.draw(place)
    piece = data.draw(st.binary(max_size=80) | st.just(saved[start:stop]) | st.just(saved[where:]))
    path.write_bytes(saved[:start] + piece + saved[data.draw(st.sampled_from([start, stop])) :])
    refused(path)


# Files of another kind


class Trap:
    """What runs code where it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("the file was unpickled",))


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_json", ".json"), content)
    return file.getvalue()


def array_file(save, *arrays, **more):
    file = io.BytesIO()
    save(file, *arrays, **more)
    return file.getvalue()


FOREIGN = {
    "empty": (b"", "is empty: get it again"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(200), "is no model file, or was cut short"),
    "text": (b"asset_id,stream\na,s.npy\n", "is no model file"),
    "pickle": (pickle.dumps(Trap()), "is no model file"),
    "npy": (array_file(np.save, np.zeros(3)), "is no model file"),
    "npy of objects": (array_file(np.save, np.array([Trap()]), allow_pickle=True), "is no model file"),
    "npz": (array_file(np.savez, mean_=np.zeros(3)), "is a zip without model.json.*check the path"),
    "other zip": (zipped(readme="hello"), "is a zip without model.json"),
    "empty zip": (zipped(), "is a zip without model.json"),
    "zip with another model.json": (zipped(model_json="{}"), "model.json does not match its checksum"),
    "spanned zip": (b"PK\x06\x07" + bytes(12) + b"\5\0\0\0" + zipped(), "damaged .*multiple disks"),
}


@pytest.mark.parametrize(("content", "what"), FOREIGN.values(), ids=FOREIGN)
def test_files_of_another_kind(content, what, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=rf"model\.fedmpca .*{what}"):
        fm.load(path)


def test_what_is_no_file(tmp_path, path):
    for place, what in (
        (tmp_path, "is a folder, not a model file: for a fleet use load_fleet"),
        (path, r"does not exist: check the path; save\(model, path\)"),
        (tmp_path / "no" / "such", "does not exist"),
        (tmp_path / ("x" * 300), "cannot be read .File name too long"),
        ("/dev/null", "is no ordinary file"),
    ):
        with pytest.raises(ModelFileError, match=what):
            fm.load(place)


def test_errors_of_the_disk_are_named(saved, path, monkeypatch):
    path.write_bytes(saved)

    def broken(*arguments, **more):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(zipfile.ZipFile, "read", broken)
    with pytest.raises(ModelFileError, match=r"model.fedmpca cannot be read \(Input/output error\): check its perm"):
        fm.load(path)


def test_a_damaged_file_is_no_error_of_the_data():
    assert issubclass(ModelFileError, FedMPCAError)
    assert not issubclass(ModelFileError, DataError)
