"""Multilinear PCA of image streams, for organisations that cannot share their data, and failure times from it."""

from fedmpca import errors
from fedmpca.estimators.mpca import MPCA
from fedmpca.federation import Federation
from fedmpca.fleets import Fleet, load_fleet, save_fleet
from fedmpca.simulate import simulate_fleet
from fedmpca.storage import load, save

__version__ = "0.1.0"

__all__ = [
    "MPCA",
    "Federation",
    "Fleet",
    "__version__",
    "errors",
    "load",
    "load_fleet",
    "save",
    "save_fleet",
    "simulate_fleet",
]
