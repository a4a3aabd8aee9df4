"""Every format gives the same streams, whichever way they were written."""

import h5py
import imageio.v3 as imageio
import numpy as np
import pytest
import tifffile
from fleet_samples import equal, streams
from scipy.io import savemat

from fedmpca.errors import DataError
from fedmpca.fleets import load_fleet
from fedmpca.fleets.lazy import LazyStreams

COUNT, SHAPE = 3, (4, 5, 6)
ARRAY = (streams(COUNT, SHAPE) * 50 + 100).astype("uint8")


def npy(path, array):
    np.save(path / "x.npy", array)
    return "x.npy"


def fortran(path, array):
    np.save(path / "x.npy", np.asfortranarray(array))
    return "x.npy"


def npz(path, array):
    np.savez(path / "x.npz", other=np.zeros(3), x=array)
    return "x.npz::x"


def npz_compressed(path, array):
    np.savez_compressed(path / "x.npz", x=array)
    return "x.npz"


def hdf5(path, array):
    with h5py.File(path / "x.h5", "w") as file:
        file["group/x"] = array
        file["other"] = np.zeros(3)
    return "x.h5::/group/x"


def mat(path, array):
    savemat(path / "x.mat", {"x": array})
    return "x.mat::x"


def mat73(path, array):
    with h5py.File(path / "x.mat", "w", userblock_size=512) as file:
        file["x"] = array.T
    return "x.mat"


def tiff(path, array):
    tifffile.imwrite(path / "x.tif", np.moveaxis(array, -1, 0), photometric="minisblack")
    return "x.tif"


def frames(suffix):
    def write(path, array):
        for place in range(array.shape[-1]):
            image = np.ascontiguousarray(array[..., place])
            name = path / f"frame{place + 7}.{suffix}"  # 7, 8, 9, 10: not in alphabetical order
            tifffile.imwrite(name, image) if suffix == "tif" else imageio.imwrite(name, image)
        return "."

    write.__name__ = f"frames_{suffix}"
    return write


SLICED = [npy, fortran, npz, hdf5, mat73]
WHOLE = [npz_compressed, mat]
IMAGES = [tiff, frames("png"), frames("tif")]


def one_file(folder, write, array=ARRAY):
    name = write(folder, array)
    (folder / "fleet.csv").write_text("asset_id,stream\n" + "".join(f"{k},{name}\n" for k in range(len(array))))
    return folder


def file_each(folder, write, arrays=ARRAY):
    lines = ["asset_id,stream"]
    for place, array in enumerate(arrays):
        (folder / f"asset {place}").mkdir()
        lines.append(f"{place},asset {place}/{write(folder / f'asset {place}', array)}")
    (folder / "fleet.csv").write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize("write", SLICED + WHOLE)
def test_one_file_for_all(write, tmp_path):
    fleet = load_fleet(one_file(tmp_path, write))
    assert isinstance(fleet.streams, LazyStreams) == (write in SLICED)
    assert equal(fleet.streams, ARRAY)
    assert equal(fleet.streams[1:3], ARRAY[1:3])
    assert equal(fleet.prefix(2)[[2, 0]].streams, ARRAY[[2, 0]][..., :2])


@pytest.mark.parametrize("write", SLICED + WHOLE + IMAGES)
def test_a_file_for_each(write, tmp_path):
    fleet = load_fleet(file_each(tmp_path, write))
    assert isinstance(fleet.streams, LazyStreams)
    assert fleet.dtype == np.uint8
    assert equal(fleet.streams, ARRAY)
    assert equal(fleet.prefix(2)[[2, 0]].streams[0:1], ARRAY[2:3, ..., :2])


@pytest.mark.parametrize("write", SLICED + WHOLE + IMAGES)
def test_files_of_different_lengths(write, tmp_path):
    fleet = load_fleet(file_each(tmp_path, write, [ARRAY[0], ARRAY[1, ..., :3], ARRAY[2, ..., :5]]))
    assert fleet.lengths.tolist() == [6, 3, 5]
    assert equal(fleet.streams[1], ARRAY[1, ..., :3])
    assert equal(fleet.prefix(3).streams, ARRAY[..., :3])


@pytest.mark.parametrize("write", [npy, fortran, npz, npz_compressed, hdf5, mat73])
@pytest.mark.parametrize("dtype", [">f4", "<f8", ">i2"])
def test_numbers_come_in_the_machine_s_own_order(write, dtype, tmp_path):
    array = streams(2).astype(dtype)
    fleet = load_fleet(one_file(tmp_path, write, array))
    assert fleet.dtype.isnative
    assert equal(fleet.streams[:], array.astype(array.dtype.newbyteorder("=")))


def test_large_fortran_files_are_gathered_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("fedmpca.fleets.npy.CHUNK_BYTES", 100)
    for write in (npy, fortran):
        fleet = load_fleet(one_file(tmp_path, write))
        assert equal(fleet.streams[1:3], ARRAY[1:3])
        assert equal(fleet.prefix(4).streams[1:3], ARRAY[1:3, ..., :4])


def test_one_page_is_one_image(tmp_path):
    fleet = load_fleet(file_each(tmp_path, tiff, [ARRAY[0, ..., :1]]))
    assert fleet.shape == (1, 4, 5, 1)


@pytest.mark.parametrize("write", WHOLE)
def test_files_read_whole_obey_the_memory_limit(write, tmp_path):
    one_file(tmp_path, write)
    with pytest.raises(
        DataError, match=r"x can only be read whole, and its 360 bytes pass .* 100: save it as .npy or HDF5"
    ):
        load_fleet(tmp_path, memory_limit=100)


def test_the_array_to_read_has_to_be_clear(tmp_path):
    np.savez(tmp_path / "x.npz", a=ARRAY, b=ARRAY)
    for name, what in (("x.npz", "holds 2 arrays"), ("x.npz::c", "has no array 'c'")):
        (tmp_path / "fleet.csv").write_text(f"asset_id,stream\n1,{name}\n")
        with pytest.raises(DataError, match=rf"{what}: name one of those it has \('a', 'b'\) as x.npz::NAME"):
            load_fleet(tmp_path)


def colour(path):
    imageio.imwrite(path / "frame1.png", np.zeros((4, 5, 3), "uint8"))


def unnumbered(path):
    imageio.imwrite(path / "frame.png", ARRAY[0, ..., 0])


def twice(path):
    imageio.imwrite(path / "frame1.png", ARRAY[0, ..., 0])
    imageio.imwrite(path / "frame01.png", ARRAY[0, ..., 0])


def broken(path):
    (path / "frame1.png").write_bytes(b"junk")


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda path: None, r"holds no frames.*\.png"),
        (colour, r"frame1.png has shape \(4, 5, 3\): frames are grey.*convert"),
        (unnumbered, r"frame.png has no number.*frame_001.png; rename"),
        (twice, "frame01.png and frame1.png in .* have the same number: keep one"),
        (broken, "frame1.png cannot be read.*write the file again"),
    ],
)
def test_refused_frames(spoil, what, tmp_path):
    (tmp_path / "asset").mkdir()
    spoil(tmp_path / "asset")
    (tmp_path / "fleet.csv").write_text("asset_id,stream\n1,asset\n")
    with pytest.raises(DataError, match=f"row 1, asset '1': .*{what}"):
        load_fleet(tmp_path)


def test_frames_that_differ_are_named_when_they_are_read(tmp_path):
    file_each(tmp_path, frames("png"), ARRAY[:1])
    imageio.imwrite(tmp_path / "asset 0" / "frame9.png", np.zeros((4, 4), "uint8"))
    with pytest.raises(DataError, match=r"frame9.png has shape \(4, 4\).*first frame has \(4, 5\).*all frames"):
        load_fleet(tmp_path).streams[0]


def complex_mat(path):
    savemat(path / "x.mat", {"x": np.full((2, 3, 4), 1j)})
    return "x.mat"


def cell_mat(path):
    savemat(path / "x.mat", {"x": np.array([[{}]], object)})
    return "x.mat"


def text_hdf5(path):
    with h5py.File(path / "x.h5", "w") as file:
        file["x"] = ["a", "b"]
    return "x.h5"


def colour_tiff(path):
    tifffile.imwrite(path / "x.tif", np.zeros((2, 4, 5, 3), "uint8"), photometric="rgb")
    return "x.tif"


def junk(name):
    def write(path):
        (path / name).write_bytes(b"junk" * 300)
        return name

    write.__name__ = name
    return write


REFUSED = [
    (complex_mat, "x.mat::x is complex: save its real"),
    (cell_mat, r"x.mat::x is a MATLAB \w+: save it as a full numeric array"),
    (text_hdf5, "x.h5::x holds Python objects"),
    (colour_tiff, r"x.tif holds images of shapes \[\(2, 4, 5, 3\)\].*grey; write it so"),
    *[(junk(f"x.{suffix}"), f"x.{suffix} cannot be read") for suffix in ("npy", "npz", "mat", "h5", "tif")],
    (junk("x.zarr"), "suffix '.zarr', which is not read; use one of .npy, .npz, .mat, .h5, .hdf5, .tif, .tiff"),
]


@pytest.mark.parametrize(("write", "what"), REFUSED)
def test_refused_files(write, what, tmp_path):
    name = write(tmp_path)
    (tmp_path / "fleet.csv").write_text(f"asset_id,stream\n1,{name}\n")
    with pytest.raises(DataError, match=what):
        load_fleet(tmp_path).streams[:]
