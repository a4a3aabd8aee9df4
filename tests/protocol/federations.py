"""Fleets split among members, and how far a federated fit is from the pooled one."""

import numpy as np

import fedmpca as fm
from fedmpca.numerics.subspaces import principal_angles

PROFILES = ("secure", "paper", "plain")


def low_rank(assets, shape=(7, 6, 5), ranks=(3, 2, 2), noise=0.02, mean=3.0, seed=0):
    """Streams whose leading vectors are well apart from the rest."""
    rng = np.random.default_rng(seed)
    streams = rng.normal(size=(assets, *ranks))
    for axis, (length, rank) in enumerate(zip(shape, ranks, strict=True), start=1):
        factor = np.linalg.qr(rng.normal(size=(length, rank)))[0] * 0.6 ** np.arange(rank)
        streams = np.moveaxis(np.tensordot(streams, factor, axes=(axis, 1)), -1, axis)
    return mean + streams + noise * rng.normal(size=streams.shape)


def split(streams, counts):
    """A fleet for each member."""
    parts = np.split(streams, np.cumsum(counts)[:-1])
    return {f"user-{number}": fm.Fleet(part) for number, part in enumerate(parts, start=1)}


def federated(model, parts, profile="secure", **more):
    """The model fitted to a federation of these fleets."""
    return model.fit(fm.Federation.in_process(parts, profile, allow_pair=len(parts) == 2, **more))


def relative_gap(values, rank):
    """Distance of the last kept eigenvalue from the first one left out, as a share of the largest."""
    return float((values[rank - 1] - values[rank]) / values[0]) if rank < len(values) else 1.0


def difference(a, b, streams):
    """Largest principal angle between the factors times the relative gap of its mode, and the relative change of Psi.

    An angle is rounding divided by the gap: that is what a subspace is determined to.
    """
    centred = streams - streams.mean(axis=0)
    angles = []
    for mode, (x, y) in enumerate(zip(a.factors_, b.factors_, strict=True)):
        projected = centred
        for other, factor in enumerate(b.factors_):
            if other != mode:
                projected = np.moveaxis(np.tensordot(projected, factor, axes=(other + 1, 0)), -1, other + 1)
        columns = np.moveaxis(projected, mode + 1, 0).reshape(streams.shape[mode + 1], -1)
        values = np.linalg.svd(columns, compute_uv=False) ** 2
        values = np.concatenate([values, np.zeros(streams.shape[mode + 1] - len(values))])
        angles.append(float(principal_angles(x, y).max()) * relative_gap(values, b.ranks_[mode]))
    return max(angles), float(np.abs(a.captured_ / b.captured_ - 1).max())
