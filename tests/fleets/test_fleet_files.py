"""Fleets from and to disk: what is saved comes back to the bit; what is wrong is named with its file, row and value."""

import os
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fleet_samples import equal, full_fleet, ragged_fleet, same, streams
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedmpca.errors import DataError, MissingExtraError
from fedmpca.fleets import Fleet, load_fleet, save_fleet
from fedmpca.fleets.files import parse_bytes
from fedmpca.fleets.lazy import LazyStreams, RaggedStreams
from fedmpca.fleets.opening import optional


def write(folder, table, **arrays):
    """A folder with a table and .npy files."""
    folder.mkdir(exist_ok=True)
    (folder / "fleet.csv").write_text(table)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


@pytest.fixture
def saved(tmp_path):
    save_fleet(full_fleet(), tmp_path / "fleet")
    return tmp_path / "fleet"


FLEETS = {
    "everything": full_fleet(),
    "streams only": Fleet(streams(3)),
    "one asset": Fleet(streams(1), lives=[2]),
    "one asset, one row of pixels": Fleet(streams(1, (1, 5))),
    "features": Fleet(streams(4, (3,)), lives=[1, 2, 3, 4]),
    "one feature": Fleet(streams(1, (1,))),
    "ragged": ragged_fleet(lives=[1, 2, 3, 4], events=[1, 0, 1, 1]),
    "ragged, one clock": ragged_fleet(times=[0.1 * k for k in range(7)]),
    "ragged, own clocks": ragged_fleet(times=[[1, 2, 3, 4, 5], [2, 3], range(7), [5, 6, 7, 8, 9]]),
    "bytes": Fleet(streams(3, dtype="uint8")),
    "big-endian": Fleet(streams(3).astype(">f4")),
    "a view": Fleet(streams(6)[::2, ..., ::-1]),
}


@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
def test_what_is_saved_comes_back(fleet, tmp_path):
    save_fleet(fleet, tmp_path / "fleet")
    back = load_fleet(tmp_path / "fleet", covariates=() if fleet.covariates is None else list(fleet.covariates))
    if fleet.covariates is not None:
        fleet = Fleet.__getitem__(fleet, slice(None))
    if fleet.dtype.byteorder == ">":
        fleet = Fleet(fleet.streams.astype("f4"))
    assert same(back, fleet)
    save_fleet(back, tmp_path / "again")
    assert same(load_fleet(tmp_path / "again"), load_fleet(tmp_path / "fleet"))


numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=1e-300, max_value=1e300)
names = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=8)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), array=hnp.arrays(st.sampled_from(["f4", "f8", "i2"]), hnp.array_shapes(min_dims=2, max_side=4)))
def test_any_table_comes_back(data, array, tmp_path):
    count = len(array)
    ids = data.draw(st.lists(names, min_size=count, max_size=count, unique=True))
    lives = data.draw(st.none() | st.lists(numbers, min_size=count, max_size=count))
    events = None if lives is None else data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    fleet = Fleet(array, lives=lives, events=events, ids=ids)
    folder = tmp_path / os.urandom(8).hex()
    save_fleet(fleet, folder)
    assert same(load_fleet(folder), fleet)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(length=st.integers(1, 7), picks=st.lists(st.integers(-4, 3), min_size=1, max_size=5))
def test_saving_changes_nothing_about_cutting_and_choosing(length, picks, tmp_path):
    for fleet in (full_fleet(), ragged_fleet()):
        folder = tmp_path / ("ragged" if fleet.is_ragged else "plain")
        if not folder.exists():
            save_fleet(fleet, folder)
        back = load_fleet(folder, covariates=["load", "kind"] if fleet.covariates is not None else [])
        assert same(back[picks], fleet[picks])
        if length <= fleet.lengths.max():
            assert same(back.prefix(length), fleet.prefix(length))
        assert same(back.at([1, 1.5]), fleet.at([1, 1.5]))


def test_streams_stay_on_disk(saved):
    fleet = load_fleet(saved, memory_limit="2 kB")
    assert isinstance(fleet.streams, LazyStreams)
    assert (fleet.memory_limit, fleet[[2, 0]].memory_limit, fleet.prefix(2).memory_limit) == (2000, 2000, 2000)
    assert (fleet.streams.nbytes, fleet.streams.ndim, fleet.dtype) == (4 * 60 * 8, 4, np.float64)
    (saved / "streams.npy").unlink()
    assert fleet[1:].prefix(2).shape == (3, 3, 4, 2)
    with pytest.raises(DataError, match=r"streams.npy cannot be read \(FileNotFoundError.*write the file again"):
        fleet.streams[0]


def test_ragged_streams_stay_on_disk(tmp_path):
    save_fleet(ragged_fleet(), tmp_path / "fleet")
    fleet = load_fleet(tmp_path / "fleet", memory_limit=5000)
    assert isinstance(fleet.streams, RaggedStreams)
    assert isinstance(fleet.prefix(3).streams, LazyStreams)
    assert fleet[[0, 1]].memory_limit == fleet.prefix(3).memory_limit == 5000
    assert fleet.streams.nbytes == 12 * 19 * 8
    assert [stream.shape[-1] for stream in fleet.streams[1:3]] == [2, 7]
    assert fleet[[0, 3]].streams[:].shape == (2, 3, 4, 5)


def test_a_slice_reads_its_assets_only(tmp_path):
    array = streams(4, (2, 3))
    fleet = load_fleet(write(tmp_path / "f", "asset_id,stream\na,s.npy\nb,s.npy\nc,s.npy\nd,s.npy\n", s=array))
    with (tmp_path / "f" / "s.npy").open("r+b") as file:
        file.truncate(128 + 2 * 48)  # the last two assets are gone
    np.testing.assert_array_equal(fleet.streams[0:2], array[0:2])
    np.testing.assert_array_equal(fleet.prefix(1).streams[0:2], array[0:2, :, :1])
    with pytest.raises(DataError, match=r"s.npy has become shorter since it was opened: write the file again"):
        fleet.streams[1:3]


def test_reading_leaves_nothing_mapped(tmp_path):
    for order in "CF":
        np.save(tmp_path / f"{order}.npy", np.zeros((8, 64, 64, 4), order=order))
        write(tmp_path, "asset_id,stream\n" + "".join(f"{k},{order}.npy\n" for k in range(8)))
        fleet = load_fleet(tmp_path)
        block = fleet.streams[2:4]
        maps = Path("/proc/self/maps")
        mapped = maps.read_text() if maps.exists() else ""
        assert f"{order}.npy" not in mapped
        assert not isinstance(block, np.memmap)
        assert block.flags.c_contiguous


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_block_takes_little_more_memory_than_it_has(order, tmp_path, monkeypatch):
    monkeypatch.setattr("fedmpca.fleets.npy.CHUNK_BYTES", 2**18)
    array = np.zeros((64, 32, 32, 32), order=order)  # 16 MB; a block of four assets is 1 MB
    fleet = load_fleet(write(tmp_path, "asset_id,stream\n" + "".join(f"{k},s.npy\n" for k in range(64)), s=array))
    del array
    for streams_, block in ((fleet.streams, 2**20), (fleet.prefix(8).streams, 2**18)):
        tracemalloc.start()
        for start in range(0, 64, 4):
            assert streams_[start : start + 4].nbytes == block
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < block + 5 * 2**18 + (order == "F") * 2**20  # chunks; in Fortran order one image of all assets


def test_threads_may_read_at_once(saved):
    fleet, results = load_fleet(saved), {}
    threads = [
        threading.Thread(target=lambda k=k: results.update({k: fleet.streams[k % 4 : k % 4 + 1]})) for k in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(equal(results[k], full_fleet().streams[k % 4 : k % 4 + 1]) for k in range(16))


# The table


def test_a_table_may_be_named_and_may_be_parquet(tmp_path):
    np.save(tmp_path / "s.npy", streams(2))
    table = pd.DataFrame(
        {"asset_id": [7, 8], "stream": "s.npy", "life": [3.5, 4], "event": [True, False], "load": [1, 2]}
    )
    table.to_parquet(tmp_path / "fleet.parquet")
    for path in (tmp_path, tmp_path / "fleet.parquet"):
        fleet = load_fleet(path, covariates="load")
        assert fleet.ids.tolist() == ["7", "8"]
        assert fleet.lives.tolist() == [3.5, 4]
        assert fleet.events.tolist() == [True, False]
        assert fleet.covariates["load"].tolist() == [1, 2]


def test_further_columns_are_covariates_only_when_named(saved):
    assert load_fleet(saved).covariates is None
    assert list(load_fleet(saved, covariates=["kind"]).covariates) == ["kind"]


def test_spellings_of_a_table(tmp_path):
    table = "\ufeffasset_id, life,event ,stream\nNA,1e1,TRUE,s.npy\n007, 2 ,0,s.npy\n\n"
    fleet = load_fleet(write(tmp_path / "f", table, s=streams(2)))
    assert fleet.ids.tolist() == ["NA", "007"]
    assert fleet.lives.tolist() == [10, 2]
    assert fleet.events.tolist() == [True, False]


def test_lives_that_are_empty_for_all_are_unknown(tmp_path):
    fleet = load_fleet(write(tmp_path / "f", "asset_id,stream,life,event\na,s.npy,,0\nb,s.npy,,\n", s=streams(2)))
    assert fleet.lives is None
    assert fleet.events is None


def test_files_may_lie_elsewhere_by_an_absolute_path(tmp_path):
    np.save(tmp_path / "one.npy", streams(1)[0])
    fleet = load_fleet(write(tmp_path / "f", f"asset_id,stream\na,{tmp_path / 'one.npy'}\n"))
    np.testing.assert_array_equal(fleet.streams, streams(1))


@pytest.mark.parametrize("text", ["age\n0.5\n1\n2\n", "0.5\n1\n2\n"])
def test_ages_beside_the_table(tmp_path, text):
    folder = write(tmp_path / "f", "asset_id,stream\na,s.npy\nb,s.npy\n", s=streams(2, (2, 3)))
    (folder / "times.csv").write_text(text)
    assert load_fleet(folder).times.tolist() == [0.5, 1, 2]
    assert load_fleet(folder).declares_clock


TWO = "asset_id,stream,life\n"
REFUSED_TABLES = [
    ("", r"fleet.csv is empty", "names the columns"),
    ("asset_id,stream\n", "no rows", "at least one"),
    ("asset_id,life\na,1\n", "no column 'stream', only asset_id, life", "a stream"),
    ("asset_id,stream,stream\na,s.npy,s.npy\n", "two columns 'stream'", "keep one"),
    (TWO + "a,s.npy\n", "row 1, has 2 cells for 3 columns", "quote cells"),
    (TWO + "a,s.npy,1\na,s.npy,2\n", "'a' stands in rows 1, 2", "its own"),
    (TWO + "a,s.npy,1\nb,s.npy,-3\n", "row 2, asset 'b' is -3", "positive"),
    (TWO + "a,s.npy,1\nb,s.npy,long\n", "row 2, asset 'b': life is 'long'", "correct it"),
    (TWO + "a,s.npy,1\nb,s.npy,\n", r"no life in 1 of 2 rows \(2\)", "for all assets or for none"),
    ("asset_id,stream,life,event\na,s.npy,1,1\nb,s.npy,2,maybe\n", "row 2, asset 'b': event is 'maybe'", "write 1"),
    ("asset_id,stream,life,event\na,s.npy,1,1\nb,s.npy,2,\n", "row 2, asset 'b': event is ''", "write 1"),
    (
        "asset_id,stream,life,entry\na,s.npy,1,0\nb,s.npy,2,3\n",
        "row 2, asset 'b' was watched from age 3",
        "does not belong",
    ),
    ("asset_id,stream,life,upper\na,s.npy,1,\nb,s.npy,2,1\n", "row 2, asset 'b' has upper 1", "leave upper out"),
    ("asset_id,stream\na,s.npy\nb,\n", "row 2, asset 'b': the stream is empty", "name the asset's file"),
    ("asset_id,stream\na,s.npy\nb,t.npy\n", "row 2, asset 'b': .*t.npy is not there", "correct the stream column"),
    (
        "asset_id,stream\na,s.npy\nb,../s.npy\n",
        "row 2, asset 'b': stream '../s.npy' leaves the folder",
        "absolute path",
    ),
    ("asset_id,stream\na,fleet.csv\nb,s.npy\n", "row 1.*suffix '.csv', which is not read", ".npy, .npz.*frames"),
    (
        "asset_id,stream\na,s.npy\nb,s.npy\nc,s.npy\n",
        r"all its 3 rows, and .*s.npy has shape \(2, 3, 4, 5\)",
        "3 entries",
    ),
    (
        "asset_id,stream\na,s.npy\nb,one.npy\n",
        r"row 2, asset 'b': .*one.npy has shape \(3, 4\)",
        "length .the last axis. only",
    ),
    (
        "asset_id,stream\na,one.npy\nb,objects.npy\n",
        "row 2, asset 'b': .*objects.npy holds Python objects",
        "never unpickled",
    ),
    ("asset_id,stream\na,one.npy\nb,complex.npy\n", "row 2.*complex.npy have dtype complex128", "split complex"),
    (
        "asset_id,stream\na,one.npy\nb,short.npy\n",
        "row 2.*short.npy is cut short.*96 bytes.*and 86 are",
        "copy or write",
    ),
    ("asset_id,stream\na,one.npy\nb,junk.npy\n", "row 2.*junk.npy cannot be read", "write the file again"),
    ("asset_id,stream\na,one.npy\nb,empty.npy\n", r"row 2.*empty.npy has shape \(3, 0\)", "at least one entry"),
]


@pytest.mark.parametrize(("table", "what", "way_out"), REFUSED_TABLES)
def test_refused_tables(table, what, way_out, tmp_path):
    one = streams(1, (3, 4))[0]
    folder = write(tmp_path / "f", table, s=streams(2), one=one, short=one, complex=one + 1j, empty=one[:, :0])
    np.save(folder / "objects.npy", np.array([[{}]]), allow_pickle=True)
    (folder / "short.npy").write_bytes((folder / "short.npy").read_bytes()[:-10])
    (folder / "junk.npy").write_bytes(b"not an array at all")
    with pytest.raises(DataError, match=f"(?s){what}.*{way_out}") as caught:
        load_fleet(folder)
    assert "fleet.csv" in str(caught.value)


def test_refused_covariates(tmp_path):
    folder = write(tmp_path / "f", "asset_id,stream,life,load\na,s.npy,1,2\nb,s.npy,2,\n", s=streams(2))
    for name in ("weight", "life"):
        with pytest.raises(DataError, match=f"no further column '{name}' to be a covariate; it has: load"):
            load_fleet(folder, covariates=[name])
    with pytest.raises(DataError, match=r"'load' of row 2, asset 'b' is nan.*fill it in"):
        load_fleet(folder, covariates=["load"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("age\n1\n2\n", r"shape \(2,\) where the longest stream has 5 images"),
        ("age\n1\ntwo\n", "times.csv, row 2: the age is 'two'"),
        ("a,b\n1,2\n", "times.csv has columns a, b: write one age a line"),
        ("asset_id,image,age\nz,1,1\n", "row 1, .*give an asset of the fleet"),
        ("asset_id,image,age\na,2,1\n", "row 1: image '2' of asset 'a' follows image 0: number them"),
        ("asset_id,image,age\na,1,1\n", r"row 1, asset 'a' have shape \(1,\) where its stream has 5"),
    ],
)
def test_refused_ages(text, what, tmp_path):
    folder = write(tmp_path / "f", "asset_id,stream\na,s.npy\nb,s.npy\n", s=streams(2))
    (folder / "times.csv").write_text(text)
    with pytest.raises(DataError, match=what):
        load_fleet(folder)


def test_refused_paths(tmp_path):
    with pytest.raises(DataError, match=r"nowhere is not there: give a folder with fleet.csv"):
        load_fleet(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"holds neither fleet.csv nor fleet.parquet: write one"):
        load_fleet(tmp_path)
    np.save(tmp_path / "s.npy", streams())
    with pytest.raises(DataError, match=r"s.npy is no table: give a folder"):
        load_fleet(tmp_path / "s.npy")
    (tmp_path / "fleet.csv").write_bytes("asset_id,stream\n\xe4,s.npy\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"cannot be read as a table.*in UTF-8"):
        load_fleet(tmp_path)
    (tmp_path / "fleet.parquet").write_bytes(b"junk")
    with pytest.raises(DataError, match=r"both fleet.csv and fleet.parquet: name the one"):
        load_fleet(tmp_path)
    with pytest.raises(DataError, match=r"cannot be read as Parquet.*write it again, or use CSV"):
        load_fleet(tmp_path / "fleet.parquet")


@pytest.mark.parametrize(
    ("size", "count"),
    [("1GB", 10**9), ("500 MB", 5 * 10**8), ("1.5kb", 1500), ("2GiB", 2**31), (7, 7), ("8", 8), ("9 B", 9)],
)
def test_memory_limits(size, count):
    assert parse_bytes(size) == count


@pytest.mark.parametrize("size", ["", "GB", "-1", 0, "1 XB", True, None, "0.1 B"])
def test_refused_memory_limits(size, saved):
    with pytest.raises(DataError, match=r"memory_limit is .*positive number of bytes.*500 MB"):
        load_fleet(saved, memory_limit=size)


def test_a_missing_library_is_named_with_the_line_that_installs_it():
    with pytest.raises(MissingExtraError, match=r'reading x needs fedmpca_absent.*pip install "fedmpca\[formats\]"'):
        optional("fedmpca_absent.inner", "reading x")


# Saving


def test_an_interrupted_save_leaves_nothing(tmp_path):
    class Stops:
        shape, dtype, ndim = (3, 2, 2), np.dtype("float64"), 3

        def __len__(self):
            return 3

        def __getitem__(self, key):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_fleet(Fleet(Stops()), tmp_path / "fleet")
    assert list(tmp_path.iterdir()) == []


def test_saving_never_replaces(saved):
    before = sorted((file.name, file.read_bytes()) for file in saved.iterdir())
    with pytest.raises(DataError, match="is there already: choose another name, or remove it first"):
        save_fleet(Fleet(streams()), saved)
    assert sorted((file.name, file.read_bytes()) for file in saved.iterdir()) == before


def test_saving_into_an_empty_folder(tmp_path):
    save_fleet(Fleet(streams(2)), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fleet.csv", "streams.npy"]


def test_refused_saves(tmp_path):
    with pytest.raises(DataError, match="'a' stands in rows 1, 2"):
        save_fleet(full_fleet()[[0, 0]], tmp_path / "fleet")
    with pytest.raises(DataError, match=r"a covariate is called 'life'.*rename it"):
        save_fleet(Fleet(streams(2), covariates={"life": [1, 2]}), tmp_path / "fleet")
    assert list(tmp_path.iterdir()) == []
