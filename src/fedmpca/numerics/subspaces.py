"""Subspaces of one mode: the basis of a scatter, how many vectors to keep, how two bases compare and merge.

Signs are fixed here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from fedmpca.numerics.tensors import Array

__all__ = ["Basis", "absorb", "basis_of_columns", "basis_of_scatter", "fix_signs", "principal_angles", "smallest_rank"]


@dataclass(frozen=True)
class Basis:
    """What a study learns of a mode: all eigenvalues of its scatter, descending, and orthonormal vectors to them.

    `values` (I,) are squared singular values of the columns; `vectors` (I, r) belong to the first r of them.
    """

    values: Array
    vectors: Array

    def leading(self, rank: int) -> Array:
        """The factor: the first `rank` vectors, (I, rank)."""
        return self.vectors[:, :rank]

    def kept(self, rank: int) -> float:
        """The scatter that the first `rank` vectors keep: the sum of their values."""
        xp = array_namespace(self.values)
        return float(xp.sum(self.values[:rank]))

    def captured(self, factor: Array) -> float:
        """trace(U' Phi U), the scatter that a factor keeps, read from the basis: sum over i of value_i |v_i' U|^2."""
        xp = array_namespace(factor)
        shares = xp.sum((self.vectors.T @ factor) ** 2, axis=1)
        return float(xp.sum(self.values[: shares.shape[0]] * shares))


def fix_signs(vectors: Array) -> Array:
    """Turn each column so that its entry of largest magnitude is positive.

    Of entries that tie to within rounding the first decides, so that two computations of one subspace agree.
    """
    xp = array_namespace(vectors)
    size = xp.abs(vectors)
    first = xp.argmax(xp.astype(size >= (1 - 1e-8) * xp.max(size, axis=0), xp.int8), axis=0)
    deciding = xp.take_along_axis(vectors, first[None, :], axis=0)
    return xp.where(deciding < 0, -vectors, vectors)


def basis_of_scatter(scatter: Array) -> Basis:
    """Eigenvectors of a symmetric scatter (method (a) of Propositions 1 and 3)."""
    xp = array_namespace(scatter)
    values, vectors = xp.linalg.eigh(scatter)
    values = xp.flip(values, axis=0)
    return Basis(xp.where(values > 0, values, xp.zeros_like(values)), fix_signs(xp.flip(vectors, axis=1)))


def basis_of_columns(columns: Array) -> Basis:
    """Left singular vectors and squared singular values of columns (method (b) of Propositions 1 and 3).

    As many values as rows: where there are fewer columns the rest are zero, and have no vectors.
    """
    xp = array_namespace(columns)
    vectors, singular, _ = xp.linalg.svd(columns, full_matrices=False)
    missing = xp.zeros(columns.shape[0] - singular.shape[0], dtype=singular.dtype)
    return Basis(xp.concat([singular**2, missing]), fix_signs(vectors))


def absorb(basis: Basis, columns: Array) -> Basis:
    """The basis of [A, B] from the basis of A and columns B: one decomposition of [U s, B].

    U s stands for A since A A' = (U s)(U s)'. This is what Proposition 2 wants; as printed, with every column of the
    residual normalised by itself, it is right only where the residual's columns are orthogonal (docs/explanation/
    numerics.md).
    """
    xp = array_namespace(columns)
    kept = basis.vectors.shape[1]
    return basis_of_columns(xp.concat([basis.vectors * xp.sqrt(basis.values[:kept]), columns], axis=1))


def smallest_rank(values: Array, share: float) -> int:
    """The smallest P whose leading values keep `share` of their sum (to within rounding)."""
    xp = array_namespace(values)
    kept = xp.cumulative_sum(values)
    enough = kept >= share * kept[-1] * (1 - values.shape[0] * float(xp.finfo(values.dtype).eps))
    return int(xp.argmax(xp.astype(enough, xp.int8))) + 1


def principal_angles(a: Array, b: Array) -> Array:
    """Angles between the spans of two orthonormal bases (I, P), ascending, exact for small angles.

    sin from the residual of b after projection on a: arccos of a cosine near 1 would lose half the digits.
    """
    xp = array_namespace(a, b)
    sines = xp.linalg.svdvals(b - a @ (a.T @ b))
    return xp.flip(xp.asin(xp.where(sines < 1, sines, xp.ones_like(sines))), axis=0)
