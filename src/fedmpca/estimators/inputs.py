"""What may be given to an estimator, and the sample it becomes: a fleet, or an array of any namespace."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_numpy_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fedmpca.errors import DataError
from fedmpca.fleets import Fleet
from fedmpca.studies.sample import Sample

__all__ = ["as_sample", "forget_table", "not_finite"]


def as_sample(estimator: BaseEstimator, X: Any, *, reset: bool, device: str | None = None) -> Sample:
    """The sample of streams behind X, checked for its kind and number of modes; values are checked when first read.

    A table sets `n_features_in_` (and `feature_names_in_`) where `reset`, else is compared with them.
    """
    if isinstance(X, Fleet):
        streams, ids, memory_limit = _fleet_streams(X), X.ids, X.memory_limit
        forget_table(estimator, reset=reset)
        return Sample(streams, ids=ids, memory_limit=memory_limit, device=device)
    return Sample(_array(estimator, X, reset=reset), device=device)


def _fleet_streams(fleet: Fleet) -> Any:
    if fleet.is_ragged:
        shortest, longest = min(fleet.lengths), max(fleet.lengths)
        raise DataError(
            f"The fleet's streams have {shortest} to {longest} images, and MPCA wants one length: "
            f"fleet.prefix({shortest}) keeps the first {shortest} of every asset."
        )
    return fleet.streams


def _array(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as an array of numbers with a leading asset axis. A table (two axes) is checked as scikit-learn checks one."""
    if is_array_api_obj(X) and not is_numpy_array(X):
        _check_axes(X.shape)
        forget_table(estimator, reset=reset)
        return X
    if _axes(X) <= 2:
        return validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise DataError(
            f"The streams have dtype {X.dtype}, and MPCA wants real numbers: "
            "give one float array of shape (asset, mode 0, ..., mode N-1); streams of unequal shape have none."
        )
    _check_axes(X.shape)
    forget_table(estimator, reset=reset)
    return X


def _axes(X: Any) -> int:
    shape = getattr(X, "shape", None)
    if shape is not None:
        return len(shape)
    try:
        return np.asarray(X).ndim
    except ValueError as ragged:
        raise DataError(
            "The streams are not one array: their shapes differ. Give an array (asset, mode 0, ..., mode N-1), or a "
            "fleet: fm.Fleet(streams).prefix(length) cuts streams to one length."
        ) from ragged


def _check_axes(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise DataError(
            f"Expected an array (asset, mode 0, ..., mode N-1), got one of shape {tuple(shape)}. Reshape your data: "
            "X[None] for one asset, X[:, None] for one number an asset."
        )
    if 0 in shape:
        raise DataError(f"The array of shape {tuple(shape)} holds no values: every axis needs at least one entry.")


def forget_table(estimator: Any, *, reset: bool) -> None:
    """A new fit to tensors leaves nothing of an earlier fit to a table."""
    for name in ("n_features_in_", "feature_names_in_"):
        if reset and hasattr(estimator, name):
            delattr(estimator, name)


def not_finite(sample: Sample) -> DataError:
    """The error to raise where a sum over the sample came out as no finite number: it names the first such value."""
    for number in range(sample.n_blocks):
        found = sample.block(number).not_finite()
        if found is not None:
            asset, place, value = found
            name = f"asset {asset}" if sample.ids is None else f"asset {asset} (id {str(sample.ids[asset])!r})"
            kind = "NaN" if np.isnan(value) else "infinity"
            return DataError(
                f"The stream of {name} has {kind} at {place}. Missing pixels are NaN: fill them first "
                "(fm.complete will, when it is there), or leave the asset out; infinite ones are errors of the source."
            )
    return DataError(
        "Sums over the streams overflow float64 although every value is finite: give the streams in a unit in which "
        "values stay below 1e150."
    )
