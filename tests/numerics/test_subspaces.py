"""Bases of a mode: what they hold, how their signs are fixed, how many vectors are kept, how two compare and merge."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedmpca.numerics.subspaces import (
    Basis,
    absorb,
    basis_of_columns,
    basis_of_scatter,
    fix_signs,
    principal_angles,
    smallest_rank,
)
from fedmpca.numerics.tensors import gram, to_host

matrices = st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(0, 10**6)).map(
    lambda drawn: np.random.default_rng(drawn[2]).normal(size=drawn[:2])
)


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


@given(matrices)
def test_a_basis_decomposes_its_scatter(columns):
    for basis in (basis_of_scatter(gram(columns)), basis_of_columns(columns)):
        kept = basis.vectors.shape[1]
        assert basis.values.shape == (len(columns),)
        assert (np.diff(basis.values) <= 1e-9 * basis.values[0]).all()
        np.testing.assert_allclose(basis.vectors.T @ basis.vectors, np.eye(kept), atol=1e-12)
        rebuilt = (basis.vectors * basis.values[:kept]) @ basis.vectors.T
        np.testing.assert_allclose(rebuilt, gram(columns), atol=1e-10)


@given(matrices, st.integers(1, 6))
def test_captured_scatter_is_the_trace(columns, rank):
    """basis.captured(U) = trace(U' Phi U), for vectors that are not the basis's own too."""
    scatter = gram(columns)
    factor = rotation(len(columns), 3)[:, :rank]
    basis = basis_of_scatter(scatter)
    assert basis.captured(factor) == pytest.approx(np.trace(factor.T @ scatter @ factor), rel=1e-9, abs=1e-9)


def test_negative_rounding_is_no_eigenvalue():
    columns = np.random.default_rng(0).normal(size=(6, 2))
    assert (basis_of_scatter(gram(columns)).values >= 0).all()


@given(matrices)
def test_signs_do_not_depend_on_those_given(columns):
    signs = np.where(np.random.default_rng(1).normal(size=columns.shape[1]) < 0, -1.0, 1.0)
    fixed = fix_signs(columns)
    np.testing.assert_array_equal(fix_signs(columns * signs), fixed)
    assert (fixed[np.abs(fixed).argmax(axis=0), range(columns.shape[1])] > 0).all()


def test_a_tie_within_rounding_is_decided_by_the_first_entry():
    """A sine's two largest entries differ by rounding only: two computations must not decide differently."""
    for nudge in (-1e-15, 0, 1e-15):
        column = np.array([[-0.5], [0.5 + nudge]])
        assert fix_signs(column)[0, 0] > 0


@pytest.mark.parametrize(
    ("values", "share", "rank"),
    [
        ([97.0, 3.0], 0.97, 1),  # a share that is met exactly is met, whatever rounding says
        ([0.1] * 10, 0.7, 7),
        ([96.0, 3.0, 1.0], 0.97, 2),
        ([1.0, 0.0, 0.0], 1.0, 1),
        ([3.0, 2.0, 1.0], 1.0, 3),
        ([5.0], 0.5, 1),
        ([1.0, 1.0], 1e-9, 1),
    ],
)
def test_smallest_rank(values, share, rank):
    assert smallest_rank(np.array(values), share) == rank


@given(st.integers(2, 30), st.floats(0.01, 1), st.integers(0, 1000))
def test_the_smallest_rank_keeps_the_share_and_one_less_does_not(n, share, seed):
    values = np.sort(np.random.default_rng(seed).exponential(size=n))[::-1]
    rank = smallest_rank(values, share)
    kept = np.cumsum(values) / values.sum()
    assert kept[rank - 1] >= share - 1e-12
    assert rank == 1 or kept[rank - 2] < share


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 0.3, np.pi / 2])
def test_small_angles_are_exact(angle):
    """arccos of a cosine near 1 would see nothing below 1e-8."""
    a = np.eye(4)[:, :2]
    b = np.stack([a[:, 0], np.cos(angle) * a[:, 1] + np.sin(angle) * np.eye(4)[:, 2]], axis=1)
    turned = b @ rotation(2, 5)  # another basis of the same span
    np.testing.assert_allclose(principal_angles(a, turned), [0, angle], rtol=1e-8, atol=3e-16)


@given(matrices, matrices.map(lambda m: m), st.integers(0, 99))
def test_absorbing_equals_decomposing_all_columns_at_once(a, b, seed):
    b = np.random.default_rng(seed).normal(size=(len(a), b.shape[1]))
    merged, whole = absorb(basis_of_columns(a), b), basis_of_columns(np.concatenate([a, b], axis=1))
    np.testing.assert_allclose(merged.values, whole.values, rtol=1e-12, atol=1e-12 * whole.values[0])
    np.testing.assert_allclose(
        (merged.vectors * merged.values[: merged.vectors.shape[1]]) @ merged.vectors.T,
        gram(a) + gram(b),
        atol=1e-12 * whole.values[0],
    )


def test_a_leading_part_is_a_factor():
    basis = Basis(np.array([3.0, 2.0, 1.0]), rotation(3))
    np.testing.assert_array_equal(basis.leading(2), rotation(3)[:, :2])


@given(matrices)
def test_the_same_text_runs_on_any_array_library(columns):
    there = array_api_strict.asarray(columns)
    for ours, theirs in (
        (basis_of_scatter(gram(columns)), basis_of_scatter(gram(there))),
        (basis_of_columns(columns), basis_of_columns(there)),
        (absorb(basis_of_columns(columns), columns), absorb(basis_of_columns(there), there)),
    ):
        np.testing.assert_allclose(ours.values, to_host(theirs.values), rtol=1e-10, atol=1e-10)
        assert smallest_rank(theirs.values, 0.9) == smallest_rank(to_host(theirs.values), 0.9)
