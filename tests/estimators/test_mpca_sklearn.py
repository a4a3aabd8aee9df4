"""MPCA as scikit-learn expects an estimator: its own checks, pipelines, searches, on arrays and on fleets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import fedmpca as fm


@parametrize_with_checks([fm.MPCA(), fm.MPCA(ranks=(1,)), fm.MPCA(flatten=True, variance_kept=0.5)])
def test_scikit_learns_own_checks(estimator, check):
    """A table is data with one mode. None of the checks is expected to fail."""
    check(estimator)


def streams(assets=40, shape=(6, 5, 4), seed=0):
    return np.random.default_rng(seed).normal(size=(assets, *shape)) * 0.5 ** np.arange(shape[-1])


def lives(x):
    return 100 + 10 * x[:, 0, 0, 0] + x[:, 1, 1, 1]


def test_clone_keeps_parameters_and_forgets_what_was_learnt():
    model = fm.MPCA(ranks=(2, 2, 2), tol=1e-3, flatten=True).fit(streams())
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]


@pytest.mark.parametrize("method", ["transform", "inverse_transform", "get_feature_names_out"])
def test_unfitted_use_says_so(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(fm.MPCA(), method)(streams())


def test_fitting_again_forgets_the_first_fit():
    model = fm.MPCA(ranks=(2,)).fit(pd.DataFrame(np.random.default_rng(0).normal(size=(9, 4)), columns=list("abcd")))
    assert model.n_features_in_ == 4
    model.set_params(ranks=(2, 2, 2)).fit(streams())
    assert not hasattr(model, "n_features_in_")
    assert model.ranks_ == (2, 2, 2)


def test_flattened_features_are_the_tensors_in_c_order_under_their_names():
    x = streams()
    model = fm.MPCA(ranks=(3, 1, 2)).fit(x)
    flat = clone(model).set_params(flatten=True).fit(x)
    np.testing.assert_array_equal(flat.transform(x), model.transform(x).reshape(len(x), -1))
    names = [f"mpca_{p}_{q}_{r}" for p in range(3) for q in range(1) for r in range(2)]
    assert flat.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(
        flat.inverse_transform(flat.transform(x)), model.inverse_transform(model.transform(x))
    )


def test_set_output_gives_a_named_table():
    x = streams()
    model = fm.MPCA(ranks=(2, 1, 2)).set_output(transform="pandas").fit(x)
    table = model.transform(x)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(table.to_numpy(), fm.MPCA(ranks=(2, 1, 2)).fit(x).transform(x).reshape(len(x), -1))


def pipeline():
    return make_pipeline(fm.MPCA(flatten=True, tol=1e-3), Ridge(alpha=1e-3))


GRID = {"mpca__ranks": [(1, 1, 1), (2, 2, 2), (6, 5, 4)]}


def test_a_grid_search_over_ranks_on_an_array():
    x = streams()
    search = GridSearchCV(pipeline(), GRID, cv=4).fit(x, lives(x))
    assert search.best_params_ in [{"mpca__ranks": ranks} for ranks in GRID["mpca__ranks"]]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(x).shape == (40,)


def test_a_grid_search_on_a_fleet_splits_assets():
    """The same scores as on its array, so the folds hold whole assets with their own lives."""
    x = streams()
    fleet = fm.Fleet(x, lives=lives(x))
    on_fleet = GridSearchCV(pipeline(), GRID, cv=KFold(4)).fit(fleet, fleet.lives)
    on_array = GridSearchCV(pipeline(), GRID, cv=KFold(4)).fit(x, lives(x))
    np.testing.assert_array_equal(on_fleet.cv_results_["mean_test_score"], on_array.cv_results_["mean_test_score"])
    scores = cross_val_score(pipeline(), fleet, fleet.lives, cv=KFold(5, shuffle=True, random_state=0))
    expected = cross_val_score(pipeline(), x, lives(x), cv=KFold(5, shuffle=True, random_state=0))
    np.testing.assert_array_equal(scores, expected)


def test_a_fleet_gives_the_bits_of_its_array():
    x = streams()
    a, b = fm.MPCA(ranks=(2, 2, 2)).fit(x), fm.MPCA(ranks=(2, 2, 2)).fit(fm.Fleet(x, lives=lives(x)))
    assert all(p.tobytes() == q.tobytes() for p, q in zip(a.factors_, b.factors_, strict=True))
    assert a.transform(x).tobytes() == b.transform(fm.Fleet(x)).tobytes()


def test_transform_gives_back_the_arguments_library():
    import array_api_strict as xp

    x = streams()
    here = fm.MPCA(ranks=(2, 2, 2)).fit(x)
    model = fm.MPCA(ranks=(2, 2, 2)).fit(xp.asarray(x))
    assert all(isinstance(factor, np.ndarray) and factor.dtype == np.float64 for factor in model.factors_)
    features = model.transform(xp.asarray(x))
    assert type(features) is type(xp.asarray(x))
    np.testing.assert_allclose(np.asarray(features), here.transform(x), atol=1e-12)
    assert model.transform(xp.asarray(x, dtype=xp.float32)).dtype == xp.float32
    assert type(model.inverse_transform(features)) is type(features)


def test_whole_numbers_and_lists_are_data_too():
    whole = np.random.default_rng(0).integers(0, 255, size=(8, 3, 4), dtype=np.uint8)
    model = fm.MPCA(ranks=(2, 2)).fit(whole)
    np.testing.assert_array_equal(fm.MPCA(ranks=(2, 2)).fit(whole.astype(float)).mean_, model.mean_)
    assert model.transform(whole).dtype == np.float64
    np.testing.assert_array_equal(model.transform(whole.tolist()), model.transform(whole))


def test_progress_is_told():
    said = []
    fm.MPCA(ranks=(2, 2, 2), tol=0, max_iter=2).fit(streams(), progress=lambda *told: said.append(told))
    assert list(dict.fromkeys(what for what, _, _ in said)) == [
        "mean",
        "initial scatters",
        *(f"sweep {sweep}, mode {mode}" for sweep in (1, 2) for mode in (0, 1, 2)),
    ]
    assert all(1 <= done <= of for _, done, of in said)
