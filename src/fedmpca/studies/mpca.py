"""Multilinear PCA as a study (paper, Algorithm 1): pooled, summed, masked and chained runs are this one text.

Preprocessing: the mean. Initialisation: each mode's leading vectors under full projection (Lu, Plataniotis and
Venetsanopoulos 2008). Local optimisation: sweeps over the modes until the captured scatter Psi gains no more than
`tol` of itself. Projection is the estimator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.numerics.subspaces import Basis, smallest_rank
from fedmpca.studies.queries import InitialScatters, Mean, ModeScatter, StreamSums
from fedmpca.studies.study import Study

__all__ = ["Projection", "check_ranks", "mpca_study"]

Floats = NDArray[np.float64]

LARGE_MEAN = 1000.0
"""Mean over standard deviation from which streams are centred before they are contracted: below, that loses 1e-13."""


@dataclass(frozen=True)
class Projection:
    """What MPCA learns."""

    n_assets: int
    mean: Floats
    factors: tuple[Floats, ...]
    spectra: tuple[Floats, ...]
    """Per mode, the eigenvalues of the initial scatter, descending."""
    captured: tuple[float, ...]
    """Psi_0 of the initial factors, then Psi after each sweep."""
    total_scatter: float
    converged: bool


def mpca_study(
    shape: Sequence[int], *, ranks: Sequence[int] | None, variance_kept: float, tol: float, max_iter: int
) -> Study[Projection]:
    """Ask for the mean, for the initial scatters, then for one mode's scatter at a time, of streams of this shape."""
    mean: Mean = yield StreamSums(tuple(shape))
    _check_count(mean)
    bases: tuple[Basis, ...] = yield InitialScatters(mean.mean)
    total = _total_scatter(bases, mean)
    centre_first = mean.n_assets * _square(mean.mean) > LARGE_MEAN**2 * total
    if ranks is None:
        ranks = [smallest_rank(basis.values, variance_kept) for basis in bases]
    factors = [basis.leading(rank) for basis, rank in zip(bases, ranks, strict=True)]
    captured: list[float] = []
    converged = False
    first: int | None = None
    for sweep in range(1, max_iter + 1):
        for mode, rank in enumerate(ranks):
            first = _contract_first(first, mode, len(ranks))
            basis: Basis = yield ModeScatter(mode, sweep, mean.mean, tuple(factors), first, centre_first)
            if not captured:
                captured.append(basis.captured(factors[mode]))
            factors[mode] = basis.leading(rank)
        captured.append(basis.kept(rank))  # Psi: what the mode updated last keeps
        if tol > 0 and captured[-1] - captured[-2] <= tol * captured[-1]:
            converged = True
            break
    return Projection(
        n_assets=mean.n_assets,
        mean=mean.mean,
        factors=tuple(map(np.ascontiguousarray, factors)),  # not views that hold all the other vectors too
        spectra=tuple(basis.values for basis in bases),
        captured=tuple(captured),
        total_scatter=total,
        converged=converged,
    )


def _contract_first(first: int | None, mode: int, n_modes: int) -> int | None:
    """The mode contracted first: one that stays as it is for as many updates to come as can be.

    The streams contracted with the factor updated last serve the N - 1 updates until that mode's own turn: N/(N-1)
    passes over the streams a sweep instead of N (the multi-sweep dimension tree of Liang et al. for CP and Tucker).
    """
    if n_modes == 1:
        return None
    return (mode - 1) % n_modes if first in (None, mode) else first


def check_ranks(ranks: Sequence[int], shape: Sequence[int]) -> None:
    """Refuse ranks that streams of this shape cannot have."""
    if len(ranks) != len(shape):
        raise DataError(
            f"ranks={tuple(ranks)} names {len(ranks)} mode(s), but a stream of shape {tuple(shape)} has {len(shape)}: "
            "give one rank for each mode."
        )
    for mode, (rank, length) in enumerate(zip(ranks, shape, strict=True)):
        if not 1 <= rank <= length:
            raise DataError(
                f"ranks={tuple(ranks)}: rank {rank} of mode {mode} is not between 1 and the mode's length {length}."
            )


def _check_count(mean: Mean) -> None:
    if mean.n_assets < 2:
        raise DataError(
            f"MPCA found 1 sample (n_samples={mean.n_assets}): one asset has no variation. Give at least two."
        )


def _square(mean: Floats) -> float:
    """|mean|^2, without a copy of what may be large."""
    return float(np.vdot(mean, mean))


def _total_scatter(bases: Sequence[Basis], mean: Mean) -> float:
    """The trace of any mode's scatter. What is left of rounding where all streams are alike counts as none."""
    total = float(np.sum(bases[0].values))
    rounding = (mean.n_assets * np.finfo(np.float64).eps) ** 2 * mean.n_assets * _square(mean.mean)
    if total <= rounding:
        raise DataError(
            f"All {mean.n_assets} streams are the same (their scatter is {total:.3g}): there is no variation to keep. "
            "Check that the streams are the ones you mean."
        )
    return total
