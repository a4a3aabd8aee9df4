"""Streams read off at other ages."""

import numpy as np
import pytest
from fleet_samples import equal, full_fleet, ragged_fleet, streams
from hypothesis import given
from hypothesis import strategies as st

from fedmpca.errors import DataError
from fedmpca.fleets import Fleet
from fedmpca.fleets.lazy import ArraySource, LazyStreams

clocks = st.lists(st.floats(-100, 100), min_size=1, max_size=8, unique=True).map(sorted)


@given(clock=clocks, dtype=st.sampled_from(["float32", "float64"]))
def test_own_ages_give_the_same_bits(clock, dtype):
    given = streams(3, (2, len(clock)), dtype=dtype)
    given[0, 0, 0] = np.nan
    given[1, 1, -1] = np.inf
    assert equal(Fleet(given, times=clock).at(clock).streams, given)


@given(clock=clocks, shares=st.lists(st.floats(0, 1), min_size=1, max_size=5, unique=True).map(sorted))
def test_straight_lines_stay_straight(clock, shares):
    ages = np.unique(clock[0] + (clock[-1] - clock[0]) * np.array(shares))
    ages = ages[ages <= clock[-1]]
    lines = np.array([2.0, -3.0])[:, None, None] * np.array(clock) + 1
    read = Fleet(lines, times=clock).at(ages)
    np.testing.assert_allclose(read.streams[:, 0], np.array([2.0, -3.0])[:, None] * ages + 1, atol=1e-9)
    np.testing.assert_array_equal(read.times, ages)


def test_between_images():
    fleet = Fleet(np.array([[[0.0, 10.0, 30.0]]], "float32"), times=[0, 1, 2]).at([0.5, 1, 1.75])
    assert fleet.streams.tolist() == [[[5, 10, 25]]]
    assert fleet.dtype == np.float32


def test_a_missing_pixel_is_missing_on_both_sides_and_not_at_other_images():
    fleet = Fleet(np.array([[[0.0, np.nan, 2.0, 3.0]]])).at([1, 1.5, 2.5, 3, 3.5])
    np.testing.assert_array_equal(fleet.streams, [[[0, np.nan, np.nan, 2, 2.5]]])


def test_integers_become_floats():
    fleet = Fleet(np.array([[[200, 100]]], "uint8")).at([1, 1.5])
    assert fleet.streams.tolist() == [[[200, 150]]]


def test_each_asset_is_read_by_its_own_clock():
    fleet = Fleet([np.array([[0.0, 2.0]]), np.array([[0.0, 1.0, 2.0]])], times=[[0, 2], [0, 1, 2]], lives=[3, 4])
    read = fleet.at([0.5, 1.5])
    assert read.streams.tolist() == [[[0.5, 1.5]], [[0.5, 1.5]]]
    assert read.times.tolist() == [0.5, 1.5]
    assert read.lives.tolist() == [3, 4]
    assert read.declares_clock


def test_images_numbered_only_have_their_numbers_as_ages():
    assert ragged_fleet().at([1, 1.5, 2]).shape == (4, 3, 4, 3)
    assert ragged_fleet().at([1.0, 2.0]).declares_clock


def test_never_beyond_what_was_seen():
    with pytest.raises(DataError, match=r"asset '2' was seen from age 1 to 2, and age 3 was.*share ages 1 to 2"):
        ragged_fleet().at([1, 3])
    with pytest.raises(DataError, match=r"asset 'a' was seen from age 0.1 to 2, and age 0 was.*leave out the assets"):
        full_fleet().at([0, 1])
    apart = Fleet(streams(2, (1, 2)), times=[[0, 1], [2, 3]])
    with pytest.raises(DataError, match="no age is shared"):
        apart.at([0.5])


@pytest.mark.parametrize(
    ("ages", "what"),
    [
        ([], r"shape \(0,\)"),
        ([[1.0]], r"shape \(1, 1\)"),
        ([1.0, np.nan], "nan at image 2"),
        ([1.0, 1.0], "from 1 to 1"),
        ("x", "not ages.*increasing vector"),
    ],
)
def test_refused_ages(ages, what):
    with pytest.raises(DataError, match=f"at: times.*{what}"):
        full_fleet().at(ages)


def test_lazy_streams_stay_lazy():
    array = streams(5, (2, 4))
    lazy = Fleet(LazyStreams.of(ArraySource(array), 1234), times=[1, 2, 3, 4])
    read = lazy.at([1, 2.5])
    assert isinstance(read.streams, LazyStreams)
    assert read.memory_limit == 1234
    plain = Fleet(array, times=[1, 2, 3, 4]).at([1, 2.5])
    assert equal(read.streams[1:4], plain.streams[1:4])
    assert equal(read.prefix(1)[[3, 0]].streams, plain.prefix(1)[[3, 0]].streams)
