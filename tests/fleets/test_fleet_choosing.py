"""Choosing assets and images: by NumPy's rules, composed like NumPy's, and split by scikit-learn."""

import array_api_strict
import numpy as np
import pytest
from fleet_samples import equal, full_fleet, ragged_fleet, same, streams
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split

from fedmpca.errors import DataError
from fedmpca.fleets import Fleet, load_fleet, save_fleet
from fedmpca.fleets.lazy import LazyStreams

slices = st.slices(4)
picks = st.lists(st.integers(-4, 3), min_size=1, max_size=6)
masks = st.lists(st.booleans(), min_size=4, max_size=4).map(np.array)


class OnlySlices:
    """The least that a lazy object of another library can do; it remembers what was read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.reads = array, array.shape, array.dtype, []

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        assert isinstance(key, slice)
        self.reads.append((key.start, key.stop))
        return self.array[key]


@given(key=slices | picks | masks)
def test_every_column_is_chosen_alike(key):
    fleet = full_fleet()
    if len(np.arange(4)[key]) == 0:
        with pytest.raises(DataError, match="no asset is left of 4"):
            fleet[key]
        return
    chosen = fleet[key]
    for name in ("streams", "lives", "events", "ids", "upper", "entry"):
        assert equal(getattr(chosen, name), getattr(fleet, name)[key])
    assert chosen.covariates["load"].tolist() == fleet.covariates["load"].to_numpy()[key].tolist()
    assert chosen.covariates.index.tolist() == list(range(len(chosen)))


@given(first=picks, data=st.data())
def test_choosing_twice_is_choosing_once(first, data):
    second = data.draw(st.lists(st.integers(0, len(first) - 1), min_size=1, max_size=4))
    for fleet in (full_fleet(), ragged_fleet(lives=[1, 2, 3, 4])):
        assert same(fleet[first][second], fleet[np.array(first)[second]])


def test_one_integer_gives_a_fleet_of_one():
    assert full_fleet()[-1].ids.tolist() == ["007"]
    assert [len(one) for one in full_fleet()] == [1, 1, 1, 1]


def test_lengths_that_agree_after_choosing_become_one_array():
    fleet = ragged_fleet()[[0, 3]]
    assert fleet.streams.shape == (2, 3, 4, 5)
    assert fleet.times.tolist() == [1, 2, 3, 4, 5]


def test_slices_are_views():
    fleet = full_fleet()
    assert fleet[1:3].streams.base is fleet.streams


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ([True, False], r"dtype bool and shape \(2,\).*one value for each asset"),
        ([0.5], "dtype float64.*integers"),
        ("a", "np.isin"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ((0, 1), "assets only; use prefix or at"),
        ([], "no asset is left of 4"),
    ],
)
def test_refused_keys(key, what):
    with pytest.raises(DataError, match=what):
        full_fleet()[key]


@pytest.mark.parametrize("key", [4, -5, [0, 9]])
def test_assets_that_are_not_there(key):
    with pytest.raises(IndexError, match="of a fleet of 4"):
        full_fleet()[key]


class Mean(BaseEstimator):
    """Predicts the mean life; needs a fleet, not an array."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y=None):
        assert isinstance(X, Fleet)
        assert len(X) == len(X.lives)
        self.mean_ = X.lives.mean() + self.shift
        return self

    def score(self, X, y=None):
        return -float(np.abs(X.lives - self.mean_).mean())


def test_scikit_learn_splits_fleets():
    lives = np.arange(1.0, 11)
    fleet = Fleet(streams(10), lives=lives)
    scores = cross_val_score(Mean(), fleet, cv=KFold(5))
    expected = [-np.abs(lives[test] - lives[train].mean()).mean() for train, test in KFold(5).split(lives)]
    np.testing.assert_allclose(scores, expected)
    train, test, y_train, _ = train_test_split(fleet, lives, random_state=0)
    assert sorted([*train.ids, *test.ids]) == sorted(fleet.ids)
    np.testing.assert_array_equal(train.lives, y_train)
    assert GridSearchCV(Mean(), {"shift": [0, 100]}, cv=2).fit(fleet).best_params_ == {"shift": 0}
    assert same(fleet[[1, 2], ...], fleet[[1, 2]])


@pytest.mark.parametrize("length", [1, 2, 5, 7])
def test_prefix_keeps_the_assets_that_have_as_many(length):
    fleet = ragged_fleet(lives=[1, 2, 3, 4])
    cut = fleet.prefix(length)
    kept = [place for place in range(4) if fleet.lengths[place] >= length]
    assert cut.ids.tolist() == [str(place + 1) for place in kept]
    assert cut.lives.tolist() == [place + 1 for place in kept]
    assert cut.times.tolist() == list(range(1, length + 1))
    assert all(equal(cut.streams[i], fleet.streams[place][..., :length]) for i, place in enumerate(kept))


def test_prefix_of_an_array_is_a_view_and_keeps_the_clock():
    fleet = full_fleet().prefix(3)
    assert fleet.streams.base is not None
    assert fleet.times.tolist() == [0.1, 0.2, 0.5]
    assert fleet.declares_clock


def test_prefix_shortens_own_clocks():
    fleet = ragged_fleet(times=[[1, 2, 3, 4, 5], [2, 3], range(7), [5, 6, 7, 8, 9]]).prefix(2)
    assert [vector.tolist() for vector in fleet.times] == [[1, 2], [2, 3], [0, 1], [5, 6]]


@pytest.mark.parametrize("length", [0, 6, -1])
def test_prefix_out_of_range(length):
    with pytest.raises(DataError, match=rf"prefix\({length}\): the longest stream has 5.*from 1 to 5"):
        full_fleet().prefix(length)
    with pytest.raises(DataError, match=r"prefix\(2.5\).*an integer"):
        full_fleet().prefix(2.5)


def test_objects_with_slices_only_stay_lazy():
    array = streams(6)
    given = OnlySlices(array)
    fleet = Fleet(given)
    assert fleet.streams is given
    chosen = fleet[[0, 1, 4, 2]][1:].prefix(2)
    assert fleet.memory_limit == chosen.memory_limit == 10**9
    assert isinstance(chosen.streams, LazyStreams)
    assert given.reads == []
    np.testing.assert_array_equal(chosen.streams, array[[1, 4, 2]][..., :2])
    assert given.reads == [(1, 2), (4, 5), (2, 3)]
    np.testing.assert_array_equal(fleet.prefix(3).streams[2:5], array[2:5, ..., :3])


@given(key=slices | picks | masks | st.integers(-4, 3))
def test_lazy_streams_index_as_arrays_do(key):
    array = streams(4)
    lazy = Fleet(OnlySlices(array))[[0, 1, 2, 3]].streams
    assert equal(lazy[key], array[key])
    assert equal(lazy[key, ..., 1:3], array[key, ..., 1:3])
    assert equal(lazy[..., 2], array[..., 2])


def test_arrays_of_another_namespace_stay_there(tmp_path):
    given = array_api_strict.asarray(streams(4))
    fleet = Fleet(given, lives=[1, 2, 3, 4])
    assert fleet.streams is given
    assert (fleet.dtype, fleet.memory_limit, len(fleet)) == (np.float64, None, 4)
    for chosen, expected in (
        (fleet[1:3], streams(4)[1:3]),
        (fleet[[2, 0]], streams(4)[[2, 0]]),
        (fleet.prefix(2), streams(4)[..., :2]),
    ):
        assert isinstance(chosen.streams, type(given))
        np.testing.assert_array_equal(np.asarray(chosen.streams), expected)
    assert equal(fleet.at([1, 2]).streams, streams(4)[..., :2])
    save_fleet(fleet, tmp_path / "fleet")
    assert equal(load_fleet(tmp_path / "fleet").streams, streams(4))
    assert "base64" in fleet._repr_html_()


def test_memory_maps_are_read_only_where_they_are_asked(tmp_path):
    np.save(tmp_path / "x.npy", streams(4))
    fleet = Fleet(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert isinstance(fleet[1:3].prefix(2).streams, np.memmap)
    assert isinstance(fleet[[0, 2]].streams, LazyStreams)
    assert isinstance(fleet.at([1, 1.5]).streams, LazyStreams)
    assert equal(fleet[[0, 2]].streams, streams(4)[[0, 2]])
