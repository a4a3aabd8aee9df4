"""What a fleet holds, and what it refuses: every refusal names the row, the value and the way out."""

import pickle

import numpy as np
import pandas as pd
import pytest
from fleet_samples import full_fleet, ragged_fleet, streams

from fedmpca.errors import DataError
from fedmpca.fleets import Fleet


def test_streams_are_kept_as_given():
    for dtype in ("float32", "float64", "uint8", "int16", "bool"):
        given = streams(dtype=dtype)
        fleet = Fleet(given)
        assert fleet.streams is given
        assert fleet.dtype == given.dtype


def test_what_a_fleet_says_of_itself():
    fleet = full_fleet()
    assert (len(fleet), fleet.shape, fleet.stream_shape, fleet.ndim) == (4, (4, 3, 4, 5), (3, 4, 5), 4)
    assert fleet.lengths.tolist() == [5, 5, 5, 5]
    assert fleet.memory_limit is None
    assert fleet.declares_clock
    assert not fleet.is_ragged
    assert repr(fleet) == "Fleet(shape=(4, 3, 4, 5), dtype=float64, failed=3, running=1)"


def test_defaults():
    fleet = Fleet(streams(3), lives=[1, 2, 3])
    assert fleet.ids.tolist() == ["1", "2", "3"]
    assert fleet.times.tolist() == [1, 2, 3, 4, 5]
    assert fleet.times.dtype == float
    assert fleet.events.tolist() == [True, True, True]
    assert not fleet.declares_clock
    unknown = Fleet(streams(3))
    assert [unknown.lives, unknown.events, unknown.upper, unknown.entry, unknown.covariates] == [None] * 5


def test_streams_of_different_lengths():
    fleet = ragged_fleet()
    assert fleet.shape == (4, 3, 4, 7)
    assert fleet.lengths.tolist() == [5, 2, 7, 5]
    assert fleet.times.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert isinstance(fleet.streams, list)
    assert fleet.dtype == np.float64
    with pytest.raises(DataError, match=r"2 to 7 images make no one array.*prefix\(2\)"):
        np.asarray(fleet)


def test_a_list_of_equal_lengths_is_one_array():
    fleet = Fleet(list(streams(3)))
    np.testing.assert_array_equal(fleet.streams, streams(3))


def test_a_fleet_is_an_array_to_those_who_ask():
    assert np.asarray(Fleet(streams())).tobytes() == streams().tobytes()


def test_a_table_of_features_has_no_time():
    fleet = Fleet(pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}), lives=[1, 2])
    assert fleet.shape == (2, 2)
    for act in (lambda: fleet.prefix(1), lambda: fleet.at([1.0]), lambda: Fleet(np.zeros((2, 2)), times=[1, 2])):
        with pytest.raises(DataError, match=r"shape \(2, 2\), a table of features.*use the fleet of streams"):
            act()


def test_values_in_streams_are_not_looked_at():
    given = streams()
    given[0, 0, 0, 0], given[1, 0, 0, 0] = np.nan, np.inf
    assert Fleet(given).streams is given


def test_lives_are_copied():
    lives = np.array([1.0, 2.0, 3.0])
    fleet = Fleet(streams(3), lives=lives)
    lives[0] = -1
    assert fleet.lives[0] == 1


def test_infinite_upper_says_no_interval():
    fleet = Fleet(streams(2), lives=[1, 2], events=[True, False], upper=[3, np.inf])
    np.testing.assert_array_equal(fleet.upper, [3, np.nan])


def test_each_asset_may_have_its_own_clock():
    fleet = ragged_fleet(times=[[1, 2, 3, 4, 5], [2, 3], range(7), [5, 6, 7, 8, 9]])
    assert [vector.tolist() for vector in fleet.times][1] == [2, 3]


def test_beginnings_of_one_clock_are_one_clock():
    fleet = ragged_fleet(times=[range(5), range(2), range(7), range(5)])
    assert fleet.times.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_fleet_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(full_fleet())).ids.tolist() == ["a", "b", "c", "007"]


REFUSED_STREAMS = [
    (np.zeros((2, 2, 2), object), "dtype object", "convert"),
    (np.zeros((2, 2, 2), complex), "dtype complex128", "split complex numbers into a mode"),
    (np.zeros((2, 2), "U3"), "dtype <U3", "convert"),
    (np.zeros((0, 2, 2)), r"shape \(0, 2, 2\), no assets", "at least one"),
    (np.zeros((2, 0, 2)), r"\(2, 0, 2\), mode 0 of size 0", "at least one"),
    (np.zeros((2, 3, 0)), r"\(2, 3, 0\), mode 1 of size 0", "at least one"),
    (np.zeros(3), r"shape \(3,\), one axis", r"streams\[np.newaxis\]"),
    ([], "empty list", "at least one"),
    ("abc", "are a str", "give an array"),
    (None, "are a NoneType", "give an array"),
    ([np.zeros((2, 3)), np.zeros((3, 3))], r"row 2 has shape \(3, 3\), that of row 1 has \(2, 3\)", "crop or resample"),
    ([np.zeros((2, 3)), np.zeros((2, 3, 3))], r"row 2 has shape \(2, 3, 3\)", "differ in length"),
    ([np.zeros(2), np.zeros(3)], r"row 2 has shape \(3,\)", "differ in length"),
    ([np.zeros((2, 3)), np.zeros((2, 0))], r"row 2 has shape \(2, 0\)", "at least one"),
    ([np.zeros((2, 3)), np.zeros((2, 3), object)], "row 2 have dtype object", "convert"),
    ([1.0, 2.0], "row 1 is a single number", "give an array"),
    ([[[1, 2], [3]]], "row 1 is ragged within itself", "give an array"),
]


@pytest.mark.parametrize(("given", "what", "way_out"), REFUSED_STREAMS)
def test_refused_streams(given, what, way_out):
    with pytest.raises(DataError, match=f"(?s){what}.*{way_out}"):
        Fleet(given)


REFUSED_COLUMNS = [
    ({"ids": ["x", "y", "x"]}, "'x' stands in rows 1, 3", "its own"),
    ({"ids": 7}, "ids are 7", "a sequence of names"),
    ({"ids": "xyz"}, "ids are 'xyz'", "a sequence of names"),
    ({"ids": ["x", "y"]}, "2 ids were given for 3 assets", "one for each"),
    ({"ids": ["x", "", "z"]}, "row 2 is ''", "at least one character"),
    ({"ids": ["x", "y\n", "z"]}, r"row 2 is 'y\\n'", "no tabs or line ends"),
    ({"lives": [1, 2]}, "2 lives were given for 3 assets", "one for each"),
    ({"lives": [[1, 2, 3]]}, r"lives have shape \(1, 3\)", "one number for each of the 3"),
    ({"lives": [1, "long", 3]}, "not all numbers.*long", "one number"),
    ({"lives": [1, -2, 3]}, "row 2, asset '2', is -2|row 2, asset '2' is -2", "Leave the asset out"),
    ({"lives": [1, 2, np.nan]}, "row 3, asset '3' is nan", "lives=None"),
    ({"lives": [1, np.inf, 3]}, "row 2, asset '2' is inf", "event False"),
    ({"lives": [0, 2, 3]}, "row 1, asset '1' is 0", "needs an upper end"),
    ({"lives": [0, 0, 3], "upper": [1, np.nan, np.nan]}, "row 2, asset '2' is 0", "upper end"),
    ({"lives": [1, 2, 3], "upper": [2, 2, 4]}, "row 2, asset '2' has upper 2 and life 2", "leave upper out"),
    ({"lives": [1, 2, 3], "upper": [2, 3]}, "2 upper were given", "one for each"),
    ({"upper": [2, 3, 4]}, "upper is given without lives", "give lives too"),
    ({"events": [1, 1, 0]}, "events are given without lives", "give lives too"),
    ({"lives": [1, 2, 3], "events": [1, 2, 0]}, "row 2, asset '2' is 2", "False .0. for still running"),
    ({"lives": [1, 2, 3], "events": [1, 0]}, "2 events were given for 3", "one for each"),
    ({"lives": [1, 2, 3], "events": [1, 0, 1], "upper": [2, 3, 4]}, "row 2, asset '2' is still.*upper 3", "event True"),
    ({"lives": [5, 6, 7], "entry": [1, 6, 2]}, "row 2, asset '2' was watched from age 6.*life 6", "does not belong"),
    ({"entry": [1, -6, 2]}, "row 2, asset '2' is -6", "0 for from new"),
    ({"entry": [1, np.nan, 2]}, "row 2, asset '2' is nan", "0 for from new"),
    ({"entry": [1, 2]}, "2 entry were given for 3", "one for each"),
    ({"times": [1, 2, 3]}, r"times have shape \(3,\) where the longest stream has 5", "one age for each image"),
    ({"times": [1, 2, 2, 3, 4]}, "from 2 to 2 at image 3", "sort the images"),
    ({"times": [1, 2, np.nan, 3, 4]}, "times are nan at image 3", "give its age"),
    ({"times": "soon"}, "times are not ages", "increasing vector"),
    ({"times": [range(5), range(5)]}, "2 vectors of times were given for 3", "one for each"),
    (
        {"times": [range(5), range(4), range(5)]},
        r"row 2, asset '2' have shape \(4,\) where its stream has 5",
        "each image",
    ),
    ({"covariates": pd.DataFrame({"x": [1, 2]})}, "2 rows of covariates were given for 3", "one for each"),
    (
        {"covariates": pd.DataFrame({"x": ["u", "v", "w"]})},
        "covariate 'x' of row 1, asset '1' is 'u', not numeric",
        "encode it",
    ),
    ({"covariates": pd.DataFrame({"x": [1, np.nan, 3]})}, "'x' of row 2, asset '2' is nan", "fill it in"),
    ({"covariates": pd.DataFrame(np.zeros((3, 2)), columns=["x", "x"])}, "two covariates are called 'x'", "own name"),
    ({"covariates": pd.DataFrame({"x": [1, 2, 3]}, index=["3", "1", "2"])}, "in another order", "loc.ids."),
    ({"covariates": 7}, "no table", "DataFrame"),
]


@pytest.mark.parametrize(("known", "what", "way_out"), REFUSED_COLUMNS)
def test_refused_columns(known, what, way_out):
    with pytest.raises(DataError, match=f"(?s)({what}).*{way_out}"):
        Fleet(streams(3), **known)


def test_an_asset_may_enter_at_the_inspection_that_begins_its_interval():
    assert Fleet(streams(1), lives=[5], upper=[7], entry=[5]).entry.tolist() == [5]


def test_the_table_of_covariates_given_is_left_alone():
    table = pd.DataFrame(np.zeros((2, 2)), index=[5, 6])
    fleet = Fleet(streams(2), covariates=table)
    assert list(table.columns) == [0, 1]
    assert list(fleet.covariates) == ["0", "1"]
    assert list(Fleet(streams(2), covariates=np.zeros((2, 1))).covariates) == ["covariate_1"]


def test_a_stream_of_another_shape_is_named_with_its_id():
    with pytest.raises(DataError, match=r"row 2, asset 'pump', has shape \(3, 3\), that of row 1 has \(2, 3\)"):
        Fleet([np.zeros((2, 3)), np.zeros((3, 3))], ids=["fan", "pump"])


def test_columns_of_a_table_are_taken_as_they_are():
    table = pd.DataFrame({"life": [1, 2], "failed": [True, False], "name": ["x", "y"]}, index=[7, 8])
    fleet = Fleet(
        streams(2), table["life"], table["failed"], ids=table["name"], times=pd.Series(range(5), index=range(1, 6))
    )
    assert (fleet.lives.tolist(), fleet.events.tolist(), fleet.ids.tolist()) == ([1, 2], [True, False], ["x", "y"])
    assert fleet.times.tolist() == [0, 1, 2, 3, 4]
