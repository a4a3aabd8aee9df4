"""Multilinear principal component analysis as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from fedmpca.errors import DataError, NotConvergedWarning
from fedmpca.estimators.inputs import as_sample, forget_table, not_finite
from fedmpca.federation import Federation
from fedmpca.numerics.tensors import Array, expand, like, project
from fedmpca.protocol.results import projection_bytes
from fedmpca.studies.mpca import Projection, check_ranks, mpca_study
from fedmpca.studies.queries import Answer, Query
from fedmpca.studies.sample import Block, Sample
from fedmpca.studies.study import Study, run, watched
from fedmpca.studies.workers import Progress, answers, one_blas_thread, over_blocks

__all__ = ["MPCA"]

Watch = Callable[[Query, Any], None]


class MPCA(TransformerMixin, BaseEstimator):
    """Multilinear PCA: one projection matrix per mode, so that the small projected tensors keep most variation.

    Parameters
    ----------
    ranks : sequence of int, optional
        Features per mode, P_n. None: the smallest that keep `variance_kept` of each mode's spectrum.
    variance_kept : float, default 0.97
        Share of each mode's initial scatter to keep, in (0, 1]; not used where `ranks` are given.
    tol : float, default 1e-6
        Sweeps end when the captured scatter gains at most this share of itself. 0 runs exactly `max_iter` sweeps.
    max_iter : int, default 50
        Largest number of sweeps over the modes.
    missing : {"error"}, default "error"
        What to do with NaN pixels.
    flatten : bool, default False
        Give features as a table (asset, P) in C order, for pipelines with any scikit-learn estimator.
    device : str, optional
        Where blocks of streams are computed on, for example "cuda".

    Attributes
    ----------
    mean_ : (mode 0, ..., mode N-1)
    factors_ : tuple of (I_n, P_n), orthonormal, the largest entry of each column positive
    ranks_ : tuple of int
    spectra_ : tuple of (I_n,), eigenvalues of each mode's initial scatter, descending
    captured_ : Psi_0 of the initial factors, then Psi after each sweep
    total_scatter_, captured_ratio_ : float
    n_iter_ : int, sweeps run
    converged_ : bool
    n_assets_ : int, assets learnt from

    Examples
    --------
    >>> import numpy as np, fedmpca as fm
    >>> streams = np.random.default_rng(0).normal(size=(40, 8, 6, 5))
    >>> mpca = fm.MPCA(ranks=(3, 2, 2)).fit(streams)
    >>> mpca.transform(streams).shape
    (40, 3, 2, 2)
    """

    def __init__(
        self,
        ranks: Sequence[int] | None = None,
        variance_kept: float = 0.97,
        tol: float = 1e-6,
        max_iter: int = 50,
        missing: str = "error",
        flatten: bool = False,
        device: str | None = None,
    ) -> None:
        self.ranks = ranks
        self.variance_kept = variance_kept
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing
        self.flatten = flatten
        self.device = device

    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None, watch: Watch | None = None) -> Self:
        """Learn the factors from an array (asset, mode 0, ..., mode N-1), a `Fleet` or a `Federation`. `y` is ignored.

        `progress(what, done, of)` is called as the parts of each pass over the streams are done, and
        `watch(query, told)` after each query, with what the study was told of all assets.
        """
        self._check_parameters()
        if isinstance(X, Federation):
            return self._fit_federation(X, progress, watch)
        sample = as_sample(self, X, reset=True, device=self.device)
        study = self._study(sample.shape[1:], watch)
        with one_blas_thread():
            found = run(study, lambda query: _total(query, sample, progress))
        return self._learn(found)

    def _fit_federation(self, federation: Federation, progress: Progress | None, watch: Watch | None) -> Self:
        if self.device is not None:
            raise DataError(f"device={self.device!r}: the members of a federation compute where they are. Leave None.")
        forget_table(self, reset=True)
        shape = federation.stream_shape
        parameters = {
            "ranks": self._ranks_for(shape),
            "variance_kept": float(self.variance_kept),
            "tol": float(self.tol),
            "max_sweeps": int(self.max_iter),
        }
        found = federation.run(self._study(shape, watch), parameters, as_bytes=projection_bytes, progress=progress)
        self.disclosures_ = federation.disclosures
        return self._learn(found)

    def transform(self, X: Any) -> Any:
        """Features (asset, P_0, ..., P_{N-1}) of streams: centred by `mean_`, projected on `factors_`.

        They come in the array's own namespace, dtype and device; as a table where `flatten` or `set_output` say so.
        """
        check_is_fitted(self)
        sample = as_sample(self, X, reset=False, device=self.device)
        self._check_stream_shape(sample.shape[1:])
        parts = over_blocks(self._features, sample)
        xp = array_namespace(parts[0])
        features = xp.concat(parts, axis=0) if len(parts) > 1 else parts[0]
        if not bool(xp.all(xp.isfinite(features))):
            raise not_finite(sample)
        as_table = self.flatten or _get_output_config("transform", self)["dense"] != "default"
        return xp.reshape(features, (features.shape[0], -1)) if as_table else features

    def inverse_transform(self, X: Any) -> Any:
        """Streams with these features (either form that `transform` gives): the closest the factors can come."""
        check_is_fitted(self)
        features = X if hasattr(X, "__array_namespace__") or hasattr(X, "device") else np.asarray(X)
        if tuple(features.shape[1:]) not in {self.ranks_, (prod(self.ranks_),)}:
            raise DataError(
                f"Features of shape {tuple(features.shape)} do not belong to this MPCA: "
                f"it gives (asset, {', '.join(map(str, self.ranks_))}), or (asset, {prod(self.ranks_)}) as a table."
            )
        xp = array_namespace(features)
        dtype = _real_dtype(xp, features)
        features = xp.astype(xp.reshape(features, (-1, *self.ranks_)), xp.float64, copy=False)
        streams = expand(features, [like(factor, features) for factor in self.factors_])
        return xp.astype(streams + like(self.mean_, features), dtype, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the flattened features, in C order: mpca_<component of mode 0>_<of mode 1>..."""
        check_is_fitted(self)
        indices = product(*(range(rank) for rank in self.ranks_))
        return np.asarray(["_".join(["mpca", *map(str, index)]) for index in indices], dtype=object)

    @property
    def captured_ratio_(self) -> float:
        """Share of the total scatter that the features keep."""
        return float(self.captured_[-1] / self.total_scatter_)

    def _features(self, block: Block) -> Array:
        centred = block.centred(self.mean_)
        features = project(centred, [like(factor, centred) for factor in self.factors_])
        xp = array_namespace(features)
        return xp.astype(features, _real_dtype(xp, block.streams), copy=False)

    def _learn(self, found: Projection) -> Self:
        self.mean_ = found.mean
        self.factors_ = found.factors
        self.ranks_ = tuple(factor.shape[1] for factor in found.factors)
        self.spectra_ = found.spectra
        self.captured_ = np.asarray(found.captured)
        self.total_scatter_ = found.total_scatter
        self.n_iter_ = len(found.captured) - 1
        self.converged_ = found.converged
        self.n_assets_ = found.n_assets
        if not found.converged and self.tol > 0:
            gain = (self.captured_[-1] - self.captured_[-2]) / self.captured_[-1]
            warnings.warn(
                f"MPCA did not converge in max_iter={self.max_iter} sweeps: the last gained {gain:.2g} of the captured "
                f"scatter, more than tol={self.tol:g}. Raise max_iter, or tol if that gain does not matter.",
                NotConvergedWarning,
                stacklevel=3,
            )
        return self

    def _study(self, shape: tuple[int, ...], watch: Watch | None) -> Study[Projection]:
        ranks = self._ranks_for(shape)
        study = mpca_study(shape, ranks=ranks, variance_kept=self.variance_kept, tol=self.tol, max_iter=self.max_iter)
        return study if watch is None else watched(study, watch)

    def _ranks_for(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        if self.ranks is None:
            return None
        given: Any = self.ranks
        ranks = tuple(given) if isinstance(given, Iterable) else (given,)
        if not all(isinstance(rank, Integral) and not isinstance(rank, bool) for rank in ranks):
            raise DataError(f"ranks={self.ranks!r} must be whole numbers, one for each mode.")
        whole = tuple(int(rank) for rank in ranks)
        check_ranks(whole, shape)
        return whole

    def _check_parameters(self) -> None:
        _check_number("variance_kept", self.variance_kept, Real, lambda share: 0 < share <= 1, "above 0 and at most 1")
        _check_number("tol", self.tol, Real, lambda tol: tol >= 0, "0 or more")
        _check_number("max_iter", self.max_iter, Integral, lambda count: count >= 1, "a whole number, 1 or more")
        if self.missing != "error":
            raise DataError(f"missing={self.missing!r} is not known: this version has missing='error'.")

    def _check_stream_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.mean_.shape:
            raise DataError(
                f"A stream of shape {shape} does not belong to this MPCA, which was fitted to streams of shape "
                f"{self.mean_.shape}. Fit anew, or bring the streams to that shape (fleet.prefix, fleet.at)."
            )


def _total(query: Query, sample: Sample, progress: Progress | None) -> Answer:
    (total,) = answers(query, [sample], progress)
    if not all(np.isfinite(part).all() for part in total):
        raise not_finite(sample)
    return total


def _real_dtype(xp: Any, x: Array) -> Any:
    """The dtype that results have: the argument's own, float64 for whole numbers."""
    return x.dtype if xp.isdtype(x.dtype, "real floating") else xp.float64


def _check_number(name: str, value: Any, kind: type, holds: Callable[[Any], bool], bound: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool) or not holds(value):
        raise DataError(f"{name}={value!r} must be {bound}.")
