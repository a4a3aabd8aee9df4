"""Small fleets, and what it means that two are the same."""

import numpy as np
import pandas as pd

import fedmpca.fleets as fl


def streams(assets=6, shape=(3, 4, 5), seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=(assets, *shape)).astype(dtype)


def full_fleet():
    return fl.Fleet(
        streams(4),
        lives=[10.5, 0, 30, 7.25],
        events=[True, True, False, True],
        ids=["a", "b", "c", "007"],
        times=[0.1, 0.2, 0.5, 1, 2],
        upper=[np.nan, 3, np.nan, 9],
        entry=[0.1, 0, 2, 7.25],
        covariates=pd.DataFrame({"load": [0.1, 2, 3, 4], "kind": [True, False, True, True]}),
    )


def ragged_fleet(**known):
    return fl.Fleet([streams(1, (3, 4, length), length)[0] for length in (5, 2, 7, 5)], **known)


def equal(a, b):
    """The same values, NaN where NaN, of the same dtype."""
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same(a, b):
    """Everything about two fleets is the same, to the bit."""
    assert a.shape == b.shape
    assert a.lengths.tolist() == b.lengths.tolist()
    assert a.ids.tolist() == b.ids.tolist()
    assert a.declares_clock == b.declares_clock
    assert all(equal(x, y) for x, y in zip(a.streams, b.streams, strict=True))
    assert isinstance(a.times, list) == isinstance(b.times, list)
    own = [fleet.times if isinstance(fleet.times, list) else [fleet.times] for fleet in (a, b)]
    assert all(equal(x, y) for x, y in zip(*own, strict=True))
    for name in ("lives", "events", "upper", "entry"):
        assert equal(getattr(a, name), getattr(b, name)), name
    assert (a.covariates is None) == (b.covariates is None)
    if a.covariates is not None:
        pd.testing.assert_frame_equal(a.covariates, b.covariates)
    return True
