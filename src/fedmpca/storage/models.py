"""The models that can be saved and loaded, and what makes each whole. A new estimator joins here, and nowhere else.

Checksums find damage. They do not find a file made by hand, or a model whose attributes were set by hand, that lacks
what the model's methods rely on; this does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedmpca.estimators.mpca import MPCA

__all__ = ["MODELS", "is_whole"]


def is_whole(model: Any) -> bool:
    """Whether everything that `fit` sets is there, of the kinds and shapes that the model's methods rely on."""
    try:
        return WHOLE[type(model)](model)
    except (AttributeError, TypeError, ValueError):  # something is missing, or of another kind altogether
        return False


def _mpca(model: MPCA) -> bool:
    shape, ranks = model.mean_.shape, model.ranks_
    arrays = (model.mean_, model.captured_, *model.factors_, *model.spectra_)
    counts = (*ranks, model.n_iter_, model.n_assets_)
    return (
        all(array.dtype.kind == "f" and bool(np.isfinite(array).all()) for array in arrays)
        and all(type(count) is int and count >= 1 for count in counts)
        and [factor.shape for factor in model.factors_] == list(zip(shape, ranks, strict=True))
        and [values.shape for values in model.spectra_] == [(length,) for length in shape]
        and model.captured_.shape == (model.n_iter_ + 1,)
        and type(model.converged_) is bool
        and type(model.total_scatter_) is float
        and model.total_scatter_ > 0
        and type(vars(model).get("_sklearn_output_config", {})) is dict
    )


WHOLE: dict[type[Any], Callable[[Any], bool]] = {MPCA: _mpca}
MODELS: dict[str, type[Any]] = {kind.__name__: kind for kind in WHOLE}
