"""What cannot be saved is named; and a file is there whole or not at all, whatever happens while it is written."""

import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import pytest
from model_samples import same_model, small, streams
from sklearn.base import BaseEstimator

import fedmpca as fm
from fedmpca.errors import DataError, NotFittedError
from fedmpca.storage import check_folder, check_writable, write_whole


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fedmpca"


# What cannot be saved


class Other(BaseEstimator):
    def fit(self, X, y=None):
        self.mean_ = X
        return self


class Heir(fm.MPCA):
    pass


@pytest.mark.parametrize("model", [Other().fit(1), Heir(ranks=(1,)).fit(streams(5, (2,))), "model", None])
def test_a_class_that_it_does_not_know_is_named(model, path):
    with pytest.raises(DataError, match=rf"{type(model).__name__} cannot be saved.*can: MPCA"):
        fm.save(model, path)
    assert not path.exists()


def test_an_unfitted_model_is_refused(path):
    with pytest.raises(NotFittedError, match="MPCA instance is not fitted yet"):
        fm.save(fm.MPCA(), path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["mean_", "factors_", "spectra_", "n_iter_", "total_scatter_", "n_assets_"])
def test_a_model_from_which_something_was_taken_is_refused(name, path):
    model = small()
    delattr(model, name)
    with pytest.raises(DataError, match="What this MPCA learnt was changed since: fit it again"):
        fm.save(model, path)
    assert not path.exists()


looped = []
looped.append(looped)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({1, 2}, "a set"),
        (np.array([{}]), "an array of dtype object"),
        (np.array(["x"]), "an array of dtype <U1"),
        (np.void(b"x"), "a void"),
        (np.datetime64("2020-01-01"), "a datetime64"),
        (lambda: None, "a function"),
        (np.ma.masked_array([1.0]), "an array of dtype float64"),
        (2**2000, "a int"),
        (looped, "nested more than 20 deep"),
        ({b"x": 1}, "a dict's key is a bytes"),
        (pd.DataFrame({"x": [1.0]}, index=["a"]), "number the table's rows from 0"),
        (
            pd.DataFrame([[1, 2]], columns=["x", "x"]),
            "number the table's rows from 0, and give each column its own name",
        ),
        (pd.DataFrame({"x": [1, "a"]}), "its column 'x' is neither of numbers nor of texts"),
        (pd.DataFrame({"x": ["a", None]}), "its column 'x' is neither"),
        (pd.DataFrame({1: ["a"]}), "its column 1 is neither"),
    ],
)
def test_an_attribute_that_cannot_be_saved_is_named(value, what, path):
    model = small()
    model.noted_ = [value]
    with pytest.raises(DataError, match=rf"noted_\.0.* cannot be saved: (it is )?({what})"):
        fm.save(model, path)
    assert not path.exists()


def test_a_parameter_that_cannot_be_saved_is_named(path):
    model = small()
    model.device = object()
    with pytest.raises(DataError, match=r"device cannot be saved: it is a object.*set it to one of these"):
        fm.save(model, path)


# Whole or not at all


def fail(error):
    def write(file):
        file.write(b"half of it")
        raise error

    return write


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (OSError(28, "No space left on device"), DataError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (ValueError("?"), ValueError),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(error, seen, path):
    path.write_bytes(b"the old one")
    with pytest.raises(seen) as raised:
        write_whole(path, fail(error))
    assert seen is not DataError or "model.fedmpca cannot be written: No space left on device." in str(raised.value)
    assert path.read_bytes() == b"the old one"
    assert os.listdir(path.parent) == [path.name]


def test_a_disk_that_fails_at_the_end_leaves_the_old_file(path, monkeypatch):
    fm.save(small(), path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"model.fedmpca cannot be written: No space left on device"):
        fm.save(fm.MPCA(ranks=(2,)).fit(streams(5, (2,))), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_cannot_be_synced_is_no_failure(path, monkeypatch):
    real = os.open

    def refuse(name, flags, *more, **others):
        if flags & os.O_DIRECTORY:
            raise PermissionError(13, "Permission denied")
        return real(name, flags, *more, **others)

    monkeypatch.setattr(os, "open", refuse)
    fm.save(small(), path)
    assert same_model(fm.load(path), small())


KILLED = """
import os, sys, fedmpca as fm
from fedmpca.storage import write_whole
def write(file):
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), {signal})
write_whole(sys.argv[1], write)
"""


def test_a_process_that_is_killed_leaves_the_old_file(path):
    fm.save(small(), path)
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", KILLED.format(signal=int(signal.SIGKILL)), path], timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert path.read_bytes() == before


def test_the_longest_name_that_the_system_allows(tmp_path):
    path = tmp_path / ("x" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    fm.save(small(), path)
    assert same_model(fm.load(path), small())


def test_paths_that_cannot_be_written_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in (
        (tmp_path, "is a folder: give the path of a file"),
        (tmp_path / "no" / "model", r"no folder .*no\. Create it first"),
        (tmp_path / ("x" * 300), "File name too long"),
        (tmp_path / "pipe", "is no ordinary file, and would be replaced by one"),
    ):
        with pytest.raises(DataError, match=what):
            fm.save(small(), path)
    assert os.listdir(tmp_path) == ["pipe"]


WITHOUT_RIGHTS = """
import os, sys
from fedmpca.storage import check_folder, check_writable
if os.getuid() == 0:  # who may write everywhere
    os.setgid(65534)
    os.setuid(65534)
for check, path in ((check_writable, "model"), (check_folder, "new/one")):
    try:
        check(os.path.join(sys.argv[1], path))
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_folder_without_permission_is_found_before_the_work():
    with tempfile.TemporaryDirectory() as folder:  # not below tmp_path, which only its owner may enter
        os.chmod(folder, 0o555)
        asked = [sys.executable, "-c", WITHOUT_RIGHTS, folder]
        run = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=60)
        os.chmod(folder, 0o755)
    refused = f"cannot be written: no permission to write to {folder}. Choose another folder."
    assert run.stdout.splitlines() == [f"DataError {folder}/model {refused}", f"DataError {folder}/new/one {refused}"]


def test_checks_give_the_path_and_write_nothing(tmp_path):
    assert check_writable(tmp_path / "model") == tmp_path / "model"
    assert check_folder(tmp_path / "new" / "one") == tmp_path / "new" / "one"
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/new can be no folder, since .*/file is a file"):
        check_folder(tmp_path / "file" / "new")
