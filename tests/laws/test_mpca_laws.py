"""What holds for every MPCA, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedmpca as fm
from fedmpca.numerics.subspaces import principal_angles


def structured(assets=40, shape=(8, 7, 6), ranks=(3, 2, 2), noise=0.05, mean=2.0, seed=0):
    """Streams near a multilinear subspace, so that leading vectors are well determined."""
    rng = np.random.default_rng(seed)
    factors = [np.linalg.qr(rng.normal(size=(n, p)))[0] for n, p in zip(shape, ranks, strict=True)]
    streams = rng.normal(size=(assets, *ranks))
    for axis, rank in enumerate(ranks, start=1):
        scale = 0.6 ** np.arange(rank)
        streams *= scale.reshape([-1 if place == axis else 1 for place in range(len(ranks) + 1)])
    for axis, factor in enumerate(factors, start=1):
        streams = np.moveaxis(np.tensordot(streams, factor, axes=(axis, 1)), -1, axis)
    return streams + mean + noise * rng.normal(size=streams.shape)


def widest_angle(a, b):
    pairs = zip(a.factors_, b.factors_, strict=True)
    return max(float(principal_angles(x, y).max()) for x, y in pairs)


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@settings(max_examples=60)
@given(shapes, st.integers(2, 8), st.data())
def test_psi_never_falls_and_is_what_the_features_have(shape, assets, data):
    ranks = tuple(data.draw(st.integers(1, length)) for length in shape)
    streams = np.random.default_rng(data.draw(st.integers(0, 999))).normal(size=(assets, *shape))
    model = fm.MPCA(ranks=ranks, tol=0, max_iter=4).fit(streams)
    psi, total = model.captured_, model.total_scatter_
    assert len(psi) == 5
    assert model.n_iter_ == 4
    assert (np.diff(psi) >= -1e-12 * total).all()
    assert psi[-1] <= total * (1 + 1e-12)
    assert total == pytest.approx(np.sum((streams - streams.mean(axis=0)) ** 2), rel=1e-12)
    assert psi[-1] == pytest.approx(np.sum(model.transform(streams) ** 2), rel=1e-10, abs=1e-12 * total)
    for factor, length, rank in zip(model.factors_, shape, ranks, strict=True):
        assert factor.shape == (length, rank)
        np.testing.assert_allclose(factor.T @ factor, np.eye(rank), atol=1e-13)


@settings(max_examples=30)
@given(shapes, st.data())
def test_projecting_then_reconstructing_is_idempotent(shape, data):
    ranks = tuple(data.draw(st.integers(1, length)) for length in shape)
    streams = np.random.default_rng(0).normal(size=(9, *shape))
    model = fm.MPCA(ranks=ranks, tol=0, max_iter=3).fit(streams)
    once = model.inverse_transform(model.transform(streams))
    twice = model.inverse_transform(model.transform(once))
    np.testing.assert_allclose(twice, once, atol=1e-13 * (1 + np.abs(once).max()))


@given(shapes)
def test_full_ranks_lose_nothing(shape):
    """P_n = I_n: a rotation; reconstruction is exact, and all the scatter is captured."""
    streams = np.random.default_rng(1).normal(size=(6, *shape))
    model = fm.MPCA(ranks=shape).fit(streams)
    np.testing.assert_allclose(model.inverse_transform(model.transform(streams)), streams, atol=1e-12)
    assert model.captured_ratio_ == pytest.approx(1, rel=1e-12)


def test_captured_plus_lost_is_the_total():
    streams = structured()
    model = fm.MPCA(ranks=(3, 2, 2)).fit(streams)
    lost = np.sum((streams - model.inverse_transform(model.transform(streams))) ** 2)
    assert model.captured_[-1] + lost == pytest.approx(model.total_scatter_, rel=1e-12)


def test_permuting_assets_changes_nothing():
    streams = structured()
    a = fm.MPCA(ranks=(3, 2, 2), tol=1e-14).fit(streams)
    b = fm.MPCA(ranks=(3, 2, 2), tol=1e-14).fit(streams[::-1])
    assert widest_angle(a, b) < 1e-10
    np.testing.assert_allclose(a.captured_, b.captured_, rtol=1e-12)


@pytest.mark.parametrize("c", [1e-100, 1e-3, -7.0, 1e100])
def test_scaling_the_data_scales_psi_by_the_square(c):
    streams = structured()
    a, b = (fm.MPCA(ranks=(3, 2, 2)).fit(x) for x in (streams, c * streams))
    np.testing.assert_allclose(b.captured_, c**2 * a.captured_, rtol=1e-11)
    assert widest_angle(a, b) < 1e-10


@pytest.mark.parametrize("ratio", [0.0, 1e2, 9e2, 1e4, 1e6])
def test_a_large_mean_does_no_harm(ratio):
    """Mean / standard deviation up to 1e6. What storing loses is not ours: the reference centres the stored numbers."""
    small = structured(mean=0.0)
    stored = small + ratio * small.std()
    exact = np.longdouble(stored) - np.longdouble(stored).mean(axis=0)
    a = fm.MPCA(ranks=(3, 2, 2), tol=1e-15).fit(stored)
    b = fm.MPCA(ranks=(3, 2, 2), tol=1e-15).fit(np.float64(exact))
    assert a.captured_[-1] == pytest.approx(b.captured_[-1], rel=1e-12)
    assert widest_angle(a, b) < 1e-9


def test_float32_is_kept_as_storage_and_summed_in_float64():
    stored = structured().astype("float32")
    a = fm.MPCA(ranks=(3, 2, 2), tol=1e-15).fit(stored)
    b = fm.MPCA(ranks=(3, 2, 2), tol=1e-15).fit(stored.astype("float64"))
    assert widest_angle(a, b) < 1e-12
    np.testing.assert_allclose(a.captured_, b.captured_, rtol=1e-13)
    assert a.transform(stored).dtype == np.float32
    assert a.inverse_transform(a.transform(stored)).dtype == np.float32
    assert all(factor.dtype == np.float64 for factor in a.factors_)


def test_a_repeated_eigenvalue():
    """Where a kept eigenvalue equals one that is not, any vector of their plane is right: only Psi can tell."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    streams = np.einsum("ap,ip,jp->aij", signs, directions[:, :2], directions[:, 2:4])
    model = fm.MPCA(ranks=(1, 1), tol=0, max_iter=5).fit(streams)
    assert model.spectra_[0][0] == pytest.approx(model.spectra_[0][1], rel=1e-12)
    assert model.captured_[-1] == pytest.approx(4, rel=1e-12)  # each direction alone: 4 assets, each (+-1)^2
    assert fm.MPCA(ranks=(2, 2)).fit(streams).captured_ratio_ == pytest.approx(1, rel=1e-12)


def test_fewer_assets_than_pixels():
    streams = np.random.default_rng(0).normal(size=(2, 12, 9))
    model = fm.MPCA(ranks=(6, 6)).fit(streams)
    assert [np.sum(values > 1e-9 * values[0]) for values in model.spectra_] == [
        9,
        9,
    ]  # of one difference of two streams
    np.testing.assert_allclose(model.factors_[0].T @ model.factors_[0], np.eye(6), atol=1e-13)


def test_a_mode_of_size_1_changes_nothing():
    streams = structured()
    flat = fm.MPCA(ranks=(3, 2, 2), tol=0, max_iter=6).fit(streams)
    deep = fm.MPCA(ranks=(3, 1, 2, 2), tol=0, max_iter=6).fit(streams[:, :, None])
    assert deep.captured_[-1] == pytest.approx(flat.captured_[-1], rel=1e-9)
    np.testing.assert_array_equal(deep.factors_[1], [[1.0]])


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97, 1.0])
def test_ranks_are_the_smallest_that_keep_the_share_of_each_mode(share):
    model = fm.MPCA(variance_kept=share).fit(structured(noise=0.3))
    for values, rank in zip(model.spectra_, model.ranks_, strict=True):
        kept = np.cumsum(values) / values.sum()
        assert kept[rank - 1] >= share - 1e-12
        assert rank == 1 or kept[rank - 2] < share


def test_one_mode_converges_at_once_and_two_do_not_stop_too_early():
    one = fm.MPCA(ranks=(2,)).fit(np.random.default_rng(0).normal(size=(30, 8)))
    assert one.converged_
    assert one.n_iter_ == 1
    streams = np.random.default_rng(0).normal(size=(30, 8, 7))
    tight = fm.MPCA(ranks=(2, 2), tol=1e-9, max_iter=500).fit(streams)
    gains = np.diff(tight.captured_) / tight.captured_[1:]
    assert (gains[:-1] > 1e-9).all()
    assert gains[-1] <= 1e-9


def test_the_result_is_a_fixed_point():
    """Each factor has the leading vectors of its own scatter, with the other factors as they are (Theorem 1)."""
    streams = structured(noise=0.3)
    model = fm.MPCA(ranks=(3, 2, 2), tol=1e-15, max_iter=500).fit(streams)
    centred = streams - streams.mean(axis=0)
    for mode in range(3):
        projected = centred
        for other in range(3):
            if other != mode:
                projected = np.moveaxis(np.tensordot(projected, model.factors_[other], (other + 1, 0)), -1, other + 1)
        columns = np.moveaxis(projected, mode + 1, 0).reshape(streams.shape[mode + 1], -1)
        leading = np.linalg.svd(columns)[0][:, : model.ranks_[mode]]
        assert principal_angles(leading, model.factors_[mode]).max() < 1e-6
