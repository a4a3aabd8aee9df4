"""Real tensors that come with packages, assets first; missing entries are filled with the set's mean."""

import numpy as np
import tensorly.datasets
from sklearn.datasets import load_digits


def _filled(streams):
    streams = np.asarray(streams, dtype=float)
    return np.where(np.isnan(streams), np.nanmean(streams), streams)


REAL_TENSORS = {
    "digits": lambda: _filled(load_digits().images),
    "IL-2": lambda: _filled(tensorly.datasets.load_IL2data()["tensor"]),
    "kinetic": lambda: _filled(tensorly.datasets.load_kinetic()["tensor"]),
    "COVID-19 serology": lambda: _filled(tensorly.datasets.load_covid19_serology()["tensor"]),
}


def fingerprints(factors):
    """|U' w|^2 for a fixed w, per mode: the same for every basis of one subspace, and different for another."""
    return [float(np.sum((factor.T @ np.cos(np.arange(len(factor)))) ** 2)) for factor in factors]
