"""One instance of every query, for streams of a given shape. A new query joins this list and inherits every law."""

import numpy as np

from fedmpca.studies import queries
from fedmpca.studies.queries import Captured, InitialScatters, ModeScatter, StreamSums


def some_streams(assets, shape, seed=0, mean=3.0):
    return mean + np.random.default_rng(seed).normal(size=(assets, *shape))


def some_factors(shape, seed=1):
    rng = np.random.default_rng(seed)
    return tuple(np.linalg.qr(rng.normal(size=(n, n)))[0][:, : rng.integers(1, n + 1)] for n in shape)


def every_query(shape, mean=3.0):
    mean, factors = np.broadcast_to(np.asarray(mean, float), shape), some_factors(shape)
    found = [StreamSums(shape), InitialScatters(mean), Captured(mean, factors)]
    for mode in range(len(shape)):
        for first in [None] if len(shape) == 1 else [n for n in range(len(shape)) if n != mode]:
            found += [ModeScatter(mode, 1, mean, factors, first, centre_first) for centre_first in (True, False)]
    return found


def query_classes():
    """Every class of the catalogue's page that can answer."""
    classes = [getattr(queries, name) for name in queries.__all__]
    return {kind for kind in classes if isinstance(kind, type) and hasattr(kind, "answer") and kind.__name__ != "Query"}
