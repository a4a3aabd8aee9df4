"""The tensor algebra of multilinear PCA, for a stack of streams: (asset, mode 0, ..., mode N-1).

Every function takes its array namespace (NumPy, PyTorch, CuPy, JAX, ...) from its argument. The Kronecker product of
the paper is never formed: projecting mode by mode is the same thing and needs no order of factors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_cupy_array, is_numpy_array, is_torch_array
from numpy.typing import NDArray

Array = Any  # an array of any namespace that follows the array API standard

__all__ = [
    "Array",
    "contract",
    "expand",
    "gram",
    "like",
    "mode_scatter",
    "project",
    "symmetric",
    "to_host",
    "triangle",
    "unfold",
]


def unfold(x: Array, mode: int) -> Array:
    """Columns A_(n): the mode's fibres of all assets side by side, (I_mode, everything else)."""
    xp = array_namespace(x)
    axes = [mode + 1, *(axis for axis in range(x.ndim) if axis != mode + 1)]
    return xp.reshape(xp.permute_dims(x, axes), (x.shape[mode + 1], -1))


def gram(columns: Array) -> Array:
    """A A', which NumPy computes as a symmetric product (half the work)."""
    return columns @ columns.T


def mode_scatter(x: Array, mode: int) -> Array:
    """Sum over assets of X_(n) X_(n)', (I_mode, I_mode): the paper's Phi, for streams centred (and projected)."""
    if mode == x.ndim - 2:  # the natural layout already has this mode's fibres as rows: no copy
        rows = array_namespace(x).reshape(x, (-1, x.shape[-1]))
        return rows.T @ rows
    return gram(unfold(x, mode))


def triangle(matrix: NDArray[Any]) -> NDArray[Any]:
    """The upper triangle of a symmetric matrix, row by row: all that there is to know of it."""
    return matrix.reshape(-1).take(_upper(len(matrix)))


def symmetric(entries: NDArray[Any], length: int) -> NDArray[Any]:
    """The symmetric matrix (length, length) with this upper triangle."""
    matrix = np.zeros((length, length), entries.dtype)
    matrix.reshape(-1)[_upper(length)] = entries
    return matrix + np.triu(matrix, 1).T


@cache
def _upper(length: int) -> NDArray[np.intp]:
    """Where the upper triangle lies in the matrix's memory."""
    rows, columns = np.triu_indices(length)
    return rows * length + columns


def contract(x: Array, factor: Array, mode: int) -> Array:
    """x times_n U': the mode's I entries become the factor's P columns."""
    xp = array_namespace(x, factor)
    before, after = x.shape[: mode + 1], x.shape[mode + 2 :]
    if not after:
        y = xp.reshape(x, (-1, x.shape[-1])) @ factor
    else:
        y = factor.T @ xp.reshape(x, (prod(before), x.shape[mode + 1], prod(after)))
    return xp.reshape(y, (*before, factor.shape[1], *after))


def project(x: Array, factors: Sequence[Array], skip: Collection[int] = ()) -> Array:
    """x times_n U_n' for every mode but those skipped, the factor that shrinks most first: the rest is small then."""
    modes = [mode for mode in range(len(factors)) if mode not in skip]
    for mode in sorted(modes, key=lambda mode: factors[mode].shape[1] / factors[mode].shape[0]):
        x = contract(x, factors[mode], mode)
    return x


def expand(y: Array, factors: Sequence[Array]) -> Array:
    """y times_n U_n for every mode: features back to (approximate) centred streams."""
    for mode, factor in enumerate(factors):
        y = contract(y, factor.T, mode)
    return y


def to_host(x: Array) -> NDArray[Any]:
    """The same numbers as a NumPy array on the host."""
    if is_torch_array(x):
        return np.asarray(x.detach().cpu())
    return np.asarray(x.get() if is_cupy_array(x) else x)


def like(x: Array, model: Array) -> Array:
    """A host array in the namespace and on the device of `model`."""
    if is_numpy_array(model):
        return x
    return array_namespace(model).asarray(x, device=device(model))
