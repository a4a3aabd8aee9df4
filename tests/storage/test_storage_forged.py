"""Files made by hand, with every checksum right: they are refused, and nothing in them is ever run."""

import copy
import json
import pickle
import subprocess
import sys
import warnings
import zipfile

import pytest
from forgeries import EDITS
from model_samples import contents, forged, same_model, small

import fedmpca as fm
from fedmpca.errors import ModelFileError


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The manifest of a true model file, and its other members."""
    path = tmp_path_factory.mktemp("true") / "model.fedmpca"
    fm.save(small(), path)
    return contents(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fedmpca"


def test_the_forger_can_write_a_true_file(parts, path):
    """Else the refusals below would prove nothing."""
    assert same_model(fm.load(forged(path, *parts)), small())


@pytest.mark.parametrize(("edit", "what"), EDITS.values(), ids=EDITS)
def test_refused(edit, what, parts, path):
    manifest, members = copy.deepcopy(parts)
    edit(manifest, members)
    with pytest.raises(ModelFileError, match=f"^{path} .*{what}") as raised:
        fm.load(forged(path, manifest, members))
    assert len(str(raised.value)) < len(str(path)) + 250
    assert "\n" not in str(raised.value)


def test_arrays_of_another_model_are_found(parts, path):
    """A zip rewritten by a tool has right CRCs; each array's own checksum tells."""
    manifest, members = parts
    other = small()
    other.mean_ = other.mean_ + 1
    fm.save(other, path)
    _, others = contents(path)
    assert others["mean_.npy"] != members["mean_.npy"]
    text = json.dumps(manifest).encode()
    with pytest.raises(
        ModelFileError, match=r"was changed after it was saved \(mean_\.npy does not match its checksum"
    ):
        fm.load(forged(path, {}, {**members, "mean_.npy": others["mean_.npy"]}, text=text))


@pytest.mark.parametrize("depth", [30, 400, 900, 1100, 100_000])
@pytest.mark.parametrize("where", ["class", "format_version", "parameters", "learnt", "arrays", "x_"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"tuple": [', "]}"), ('{"x": ', "}")])
def test_deep_nesting(depth, where, opening, closing, parts, path):
    manifest, members = copy.deepcopy(parts)
    (manifest["learnt"] if where == "x_" else manifest)[where] = "HERE"
    text = json.dumps(manifest).replace('"HERE"', opening * depth + "1" + closing * depth).encode()
    with pytest.raises(ModelFileError):
        fm.load(forged(path, {}, members, text=text))


@pytest.mark.parametrize("text", [b"", b"[1]", b"null", b"\xff\xfe", b"{", b'{"format": Infinity}', b"9" * 5000])
def test_a_manifest_that_is_none(text, parts, path):
    with pytest.raises(ModelFileError, match=r"has a model\.json that"):
        fm.load(forged(path, {}, parts[1], text=text))


def test_numbers_beyond_float64(parts, path):
    manifest, members = parts
    text = json.dumps(manifest).replace('"tol": 1e-06', '"tol": 1e999').encode()
    with pytest.raises(ModelFileError, match="holds a number that no float64 can"):
        fm.load(forged(path, manifest, members, text=text))


# Zips made to harm


def compressed(archive, members):
    for name, member in members.items():
        archive.writestr(name, member, compress_type=zipfile.ZIP_DEFLATED)


def bomb(archive, members):
    for name, member in members.items():
        archive.writestr(name, member)
    archive.writestr("more.npy", bytes(10**7), compress_type=zipfile.ZIP_LZMA)


def twice(archive, members):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's own, about what is done here on purpose
        for name, member in [*members.items(), *members.items()]:
            archive.writestr(name, member)


def commented_as_encrypted(archive, members):
    for name, member in members.items():
        archive.writestr(name, member)
    archive.infolist()[0].flag_bits |= 1


def claims_more(archive, members):
    for name, member in members.items():
        archive.writestr(name, member)
    archive.infolist()[1].file_size = 2**40


def overlapping(archive, members):
    """Many names for the same bytes: the way a small zip becomes endless without any compression."""
    for name, member in members.items():
        archive.writestr(name, member)
    for number in range(200):
        entry = copy.copy(archive.infolist()[1])
        entry.filename = entry.orig_filename = f"x{number}.npy"
        archive.filelist.append(entry)


PACKED = {
    "compressed": (compressed, "was packed by another tool, or tampered with"),
    "a bomb": (bomb, "was packed by another tool, or tampered with"),
    "everything twice": (twice, "holds members twice"),
    "encrypted": (commented_as_encrypted, "was packed by another tool, or tampered with"),
    "a size beyond the file": (claims_more, "larger than itself"),
    "many names for the same bytes": (overlapping, "larger than itself"),
}


@pytest.mark.parametrize(("pack", "what"), PACKED.values(), ids=PACKED)
def test_zips_made_to_harm(pack, what, parts, path):
    with pytest.raises(ModelFileError, match=what):
        fm.load(forged(path, *parts, pack=pack))


# Nothing is run

WATCHED = """
import sys, fedmpca as fm
seen, watching = [], False
def hook(event, arguments):
    if watching and event in {"exec", "compile", "import", "marshal.loads", "pickle.find_class", "os.system",
                              "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "shutil.rmtree"}:
        seen.append((event, arguments))
sys.addaudithook(hook)
for watching in (False, True):  # the first time Python itself loads what it needs
    for path in sys.argv[1:]:
        try:
            fm.load(path)
        except fm.errors.ModelFileError:
            pass
watching = False
assert not seen, seen
import pickle
watching = True
compile("1", "", "eval")
assert seen, "the watch sees nothing"
"""


def test_nothing_is_compiled_imported_or_unpickled(parts, tmp_path):
    files = [forged(tmp_path / "true", *parts)]
    for number, (edit, _) in enumerate(EDITS.values()):
        manifest, members = copy.deepcopy(parts)
        edit(manifest, members)
        files.append(forged(tmp_path / str(number), manifest, members))
    files.append(tmp_path / "pickle")
    files[-1].write_bytes(pickle.dumps(small()))
    run = subprocess.run([sys.executable, "-c", WATCHED, *files], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
