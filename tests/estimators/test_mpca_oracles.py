"""MPCA against other software on real tensors: TensorLy's partial_tucker, PyKale's MPCA, scikit-learn's PCA."""

import json
from pathlib import Path

import numpy as np
import pytest
from real_tensors import REAL_TENSORS, fingerprints
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from tensorly.decomposition import partial_tucker

import fedmpca as fm
from fedmpca.numerics.subspaces import principal_angles

RANKS = {
    "digits": [(1, 1), (3, 3), (5, 4)],
    "IL-2": [(1, 1, 1), (2, 3, 2)],
    "kinetic": [(2, 2, 2), (4, 3, 5)],
    "COVID-19 serology": [(1, 1), (3, 4)],
}
CASES = [(name, ranks) for name, several in RANKS.items() for ranks in several]
PYKALE = json.loads((Path(__file__).parent / "pykale_reference.json").read_text())


def tucker_factors(streams, ranks, sweeps):
    """TensorLy's factors of the centred streams, after this many sweeps from its own start by SVD."""
    centred = streams - streams.mean(axis=0)
    (_, factors), _ = partial_tucker(
        centred, rank=list(ranks), modes=list(range(1, streams.ndim)), n_iter_max=sweeps, init="svd", tol=0
    )
    projected = centred
    for axis, factor in enumerate(factors, start=1):
        projected = np.moveaxis(np.tensordot(projected, factor, axes=(axis, 0)), -1, axis)
    return factors, float(np.sum(projected**2))


@pytest.mark.parametrize(("name", "ranks"), CASES)
def test_equal_to_tensorly_at_the_same_fixed_point(name, ranks):
    """Subspaces and Psi, relative 1e-8; after 200 sweeps of both, where they have long ceased to move."""
    streams = REAL_TENSORS[name]()
    model = fm.MPCA(ranks=ranks, tol=0, max_iter=200).fit(streams)
    factors, captured = tucker_factors(streams, ranks, sweeps=200)
    assert model.captured_[-1] == pytest.approx(captured, rel=1e-11)
    for ours, theirs in zip(model.factors_, factors, strict=True):
        assert principal_angles(ours, theirs).max() < 1e-8


@pytest.mark.parametrize("name", REAL_TENSORS)
@pytest.mark.parametrize("place", range(4))
def test_equal_to_pykale(name, place):
    """The same ranks by share of variation, the same Psi and subspaces after the same number of sweeps."""
    reference = PYKALE["tensors"][name][place]
    streams = REAL_TENSORS[name]()
    by_share = fm.MPCA(variance_kept=reference["variance_kept"], tol=0, max_iter=reference["sweeps"]).fit(streams)
    assert by_share.ranks_ == tuple(reference["ranks"])
    assert by_share.captured_[-1] == pytest.approx(reference["captured"], rel=1e-12)
    np.testing.assert_allclose(fingerprints(by_share.factors_), reference["fingerprints"], rtol=1e-8)


@pytest.mark.parametrize("load", [load_digits, load_iris, load_wine, load_diabetes])
def test_one_mode_is_pca(load):
    """N = 1: scikit-learn's PCA, to 1e-10."""
    X = load().data
    # constant pixels of the digits: PCA's vectors beyond the rank are arbitrary
    rank = min(np.linalg.matrix_rank(X - X.mean(axis=0)), 10)
    ours, theirs = fm.MPCA(ranks=(rank,)).fit(X), PCA(rank, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12, atol=1e-12)
    assert principal_angles(ours.factors_[0], theirs.components_.T).max() < 1e-10
    variances = ours.spectra_[0][:rank] / (len(X) - 1)
    np.testing.assert_allclose(variances, theirs.explained_variance_, rtol=1e-10)
    scale = np.abs(theirs.transform(X)).max()
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-10 * scale)
    reconstructed = ours.inverse_transform(ours.transform(X))
    expected = theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(reconstructed, expected, atol=1e-10 * np.abs(X).max())
