"""The propositions of the paper: 1 and 3 as they stand, 2 as printed, where that fails, and as it should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedmpca.numerics.subspaces import absorb, basis_of_columns, basis_of_scatter, principal_angles
from fedmpca.numerics.tensors import mode_scatter, project, unfold


def members(counts, shape=(6, 5, 4), seed=0):
    """Centred streams of each member, with decaying spectra so that leading vectors are well apart."""
    rng = np.random.default_rng(seed)
    streams = rng.normal(size=(sum(counts), *shape))
    for axis, length in enumerate(shape, start=1):
        decay = 0.5 ** np.arange(length)
        streams *= decay.reshape([-1 if place == axis else 1 for place in range(len(shape) + 1)])
    streams = project(streams, [np.linalg.qr(rng.normal(size=(length, length)))[0] for length in shape])
    streams -= streams.mean(axis=0)
    return np.split(streams, np.cumsum(counts)[:-1])


counts = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def same_leading_vectors(a, b, ranks=(1, 2, 3)):
    return max(float(principal_angles(a.leading(rank), b.leading(rank)).max()) for rank in ranks)


@settings(max_examples=30)
@given(counts, st.integers(0, 2))
def test_proposition_1_eigenvectors_of_the_initial_scatter_are_singular_vectors_of_all_columns(counts, mode):
    parts = members([*counts, 3])
    scatter = sum(mode_scatter(part, mode) for part in parts)
    columns = np.concatenate([unfold(part, mode) for part in parts], axis=1)
    by_scatter, by_columns = basis_of_scatter(scatter), basis_of_columns(columns)
    np.testing.assert_allclose(by_scatter.values, by_columns.values, atol=1e-13 * by_columns.values[0])
    assert same_leading_vectors(by_scatter, by_columns) < 1e-10


@settings(max_examples=30)
@given(counts, st.integers(0, 2))
def test_proposition_3_eigenvectors_of_a_projected_scatter_are_singular_vectors_of_the_projected_columns(counts, mode):
    parts = members([*counts, 6])
    rng = np.random.default_rng(7)
    factors = [np.linalg.qr(rng.normal(size=(length, 3)))[0] for length in parts[0].shape[1:]]
    projected = [project(part, factors, skip=[mode]) for part in parts]
    by_scatter = basis_of_scatter(sum(mode_scatter(part, mode) for part in projected))
    by_columns = basis_of_columns(np.concatenate([unfold(part, mode) for part in projected], axis=1))
    np.testing.assert_allclose(by_scatter.values, by_columns.values, atol=1e-13 * by_columns.values[0])
    assert same_leading_vectors(by_scatter, by_columns) < 1e-10


def merge_as_printed(vectors, singular, b):
    """Proposition 2, steps 1 to 4: every column of the residual is normalised by itself."""
    residual = b - vectors @ (vectors.T @ b)
    norms = np.linalg.norm(residual, axis=0)
    normalised = np.where(norms > 0, residual / np.where(norms > 0, norms, 1), residual)
    top = np.concatenate([np.diag(singular), vectors.T @ b], axis=1)
    below = np.concatenate([np.zeros((b.shape[1], len(singular))), np.diag(norms)], axis=1)
    u, s, _ = np.linalg.svd(np.concatenate([top, below]))
    return (np.concatenate([vectors, normalised], axis=1) @ u)[:, : len(vectors)], s[: len(vectors)]


def thin(a):
    vectors, singular, _ = np.linalg.svd(a, full_matrices=False)
    return vectors, singular


def test_proposition_2_as_printed_is_right_where_the_residuals_columns_are_orthogonal():
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    a = q[:, :3] @ rng.normal(size=(3, 3))
    b = q[:, :3] @ rng.normal(size=(3, 2)) + q[:, 3:5] * [2.0, 0.7]  # the residual: two orthogonal columns
    _, singular = merge_as_printed(*thin(a), b)
    whole = np.linalg.svd(np.concatenate([a, b], axis=1), compute_uv=False)
    np.testing.assert_allclose(singular[: len(whole)], whole, rtol=1e-12)


def test_proposition_2_as_printed_fails_where_they_are_not_and_absorb_does_not():
    """A thin basis and a residual of parallel columns: the printed merge counts one direction twice as two."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(8, 2)), rng.normal(size=(8, 5))
    whole = np.linalg.svd(np.concatenate([a, b], axis=1), compute_uv=False)
    vectors, printed = merge_as_printed(*thin(a), b)
    wrong = np.abs(printed[: len(whole)] / whole - 1).max()
    assert wrong > 0.07
    # nor are its "vectors" orthonormal, which a projection matrix has to be
    assert np.abs(vectors[:, :5].T @ vectors[:, :5] - np.eye(5)).max() > 0.05
    merged = absorb(basis_of_columns(a), b)
    np.testing.assert_allclose(np.sqrt(merged.values[: len(whole)]), whole, rtol=1e-12)
    np.testing.assert_allclose(merged.vectors.T @ merged.vectors, np.eye(merged.vectors.shape[1]), atol=1e-13)


def test_proposition_2_as_printed_with_a_square_basis_has_a_residual_of_rounding_only():
    """With U of I x I, as Algorithm 3 has it, there is no residual: what is normalised is noise of no meaning."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(5, 9)), rng.normal(size=(5, 4))
    vectors = np.linalg.svd(a)[0]
    residual = b - vectors @ (vectors.T @ b)
    assert 0 < np.abs(residual).max() < 1e-14
    normalised = residual / np.linalg.norm(residual, axis=0)
    assert np.abs(vectors.T @ normalised).max() > 1e-3  # nowhere near orthogonal to the basis, as the proof needs


@pytest.mark.parametrize("counts", [[4, 3, 5], [1, 1, 1, 1], [2, 6]])
def test_the_chain_of_merges_gives_the_pooled_basis(counts):
    """Algorithm 3 with the right merge: one member after the other, equal to all columns at once."""
    parts = [unfold(part, 0) for part in members(counts)]
    basis = basis_of_columns(parts[0])
    for columns in parts[1:]:
        basis = absorb(basis, columns)
    whole = basis_of_columns(np.concatenate(parts, axis=1))
    np.testing.assert_allclose(basis.values, whole.values, rtol=1e-11)
    assert same_leading_vectors(basis, whole) < 1e-12
