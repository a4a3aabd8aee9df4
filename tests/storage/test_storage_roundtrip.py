"""What `save` writes, `load` gives back to the bit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from model_samples import fitted, same_model, same_value, small, streams
from sklearn.base import clone

import fedmpca as fm

FITTED = fitted()
quickly = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fedmpca"


# To the bit


@pytest.mark.parametrize("model", FITTED.values(), ids=FITTED)
def test_parameters_and_what_was_learnt_come_back(model, path):
    fm.save(model, path)
    back = fm.load(path)
    assert same_model(back, model)
    assert back.captured_ratio_ == model.captured_ratio_
    assert back.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("model", FITTED.values(), ids=FITTED)
def test_the_same_model_gives_the_same_bytes_and_a_loaded_one_too(model, path):
    fm.save(model, path)
    first = path.read_bytes()
    fm.save(model, path)
    assert path.read_bytes() == first
    fm.save(fm.load(path), path)
    assert path.read_bytes() == first


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).filter(lambda shape: np.prod(shape) > 1).map(tuple)


@quickly
@given(data=st.data(), shape=shapes, seed=st.integers(0, 99))
def test_any_model_comes_back(data, shape, seed, path):
    ranks = data.draw(st.none() | st.tuples(*(st.integers(1, length) for length in shape)))
    share = data.draw(st.floats(0.01, 1))
    x = streams(5, shape, seed)
    model = fm.MPCA(ranks, share, tol=0, max_iter=data.draw(st.integers(1, 3)), flatten=data.draw(st.booleans())).fit(x)
    fm.save(model, path)
    back = fm.load(path)
    assert same_model(back, model)
    features = model.transform(x)
    assert same_value(back.transform(x), features)
    assert same_value(back.inverse_transform(features), model.inverse_transform(features))


def test_bits_that_depend_on_the_layout_in_memory_stay(path):
    """BLAS takes another way through a view than through an array of its own: these shapes told the two apart."""
    for shape in ((15, 13), (7, 28), (6, 3, 12), (4, 7, 7, 3), (1, 1, 7, 1)):
        x = streams(17, shape)
        model = fm.MPCA(ranks=(1, *(min(2, length) for length in shape[1:])), tol=0, max_iter=1).fit(x)
        fm.save(model, path)
        assert same_value(fm.load(path).transform(x), model.transform(x))


@pytest.mark.parametrize("order", "CF")
def test_arrays_by_rows_and_by_columns_stay_so(order, path):
    x = streams(9, (7, 5, 6))
    model = fm.MPCA(ranks=(3, 2, 4)).fit(x)
    model.factors_ = tuple(np.array(factor, order=order) for factor in model.factors_)
    model.mean_ = np.array(model.mean_, order=order)
    fm.save(model, path)
    back = fm.load(path)
    for kept, loaded in zip((model.mean_, *model.factors_), (back.mean_, *back.factors_), strict=True):
        assert loaded.strides == kept.strides
        assert loaded.flags.writeable
        assert loaded.flags.owndata
    features = model.transform(x)
    assert same_value(back.transform(x), features)
    assert same_value(back.inverse_transform(features), model.inverse_transform(features))


def test_what_set_output_was_told_is_kept(path):
    x = streams(6, (4,))
    fm.save(fm.MPCA(ranks=(2,)).set_output(transform="pandas").fit(x), path)
    back = fm.load(path)
    assert back.transform(x).columns.tolist() == ["mpca_0", "mpca_1"]
    assert clone(back).fit(x).transform(x).columns.tolist() == ["mpca_0", "mpca_1"]


# Values that an attribute may have: diagnostics that the report will show, names in any script

numbers = hnp.arrays(
    st.sampled_from(["<f8", ">f8", "<f4", "<f2", "<i8", ">u2", "|i1", "|b1", "<c16"]), hnp.array_shapes(min_side=0)
)
names = hnp.arrays(object, hnp.array_shapes(max_dims=2, min_side=0), elements=st.text(), fill=st.just(""))
plain = st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats() | st.text() | numbers | names
scalars = hnp.scalar_dtypes().filter(lambda dtype: dtype.kind in "iufb" and dtype.itemsize <= 8)
values = st.recursive(
    plain | scalars.flatmap(hnp.from_dtype),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@quickly
@given(value=values, key=st.text(min_size=1) | st.tuples(st.integers(), st.text()) | st.booleans())
def test_any_attribute_comes_back(value, key, path):
    model = small()
    model.noted_ = value
    model.übersicht_ = {key: value, "more": [value]}
    fm.save(model, path)
    back = fm.load(path)
    assert same_value(back.noted_, value)
    assert list(back.übersicht_) == [key, "more"]
    assert same_value(back.übersicht_[key], value)


def test_a_table_comes_back(path):
    model = small()
    rows = {
        "round": np.arange(3),
        "what": ["its own", "", "größe"],
        "share": np.float32([0.1, np.nan, 1]),
        "last": [True] * 3,
    }
    model.noted_ = pd.DataFrame(rows)
    fm.save(model, path)
    assert same_value(fm.load(path).noted_, model.noted_)


def test_an_array_that_is_not_contiguous_comes_back_by_value(path):
    model = small()
    model.noted_ = np.arange(24.0).reshape(4, 6)[::-2, ::3]
    fm.save(model, path)
    assert fm.load(path).noted_.tolist() == [[18, 21], [6, 9]]
