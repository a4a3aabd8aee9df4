"""The fleets of the paper's numerical study (section 6): plates that heat up from their edges, lives from features.

The table in docs/paper.md ("The simulated plates") says how each ambiguous place of the section is read. The heat
equation is solved by its series, not by time steps: explicit Euler is unstable at the section's step. Nothing is tuned.
"""

from __future__ import annotations

import sys
from math import ceil, pi, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.estimators.mpca import MPCA
from fedmpca.fleets import Fleet
from fedmpca.numerics.tensors import project

__all__ = ["heat_streams", "lives_from", "simulate_fleet"]

Floats = NDArray[np.float64]
Seed = int | np.random.Generator | None

SIDE = 0.2
"""Length of the square plate."""
EDGE = 30.0
"""What its four edges are held at, from t = 1 on; inside it is 0 then."""
LAST = 150
"""The t of the last image."""
DIFFUSIVITY = (0.5e-4, 1e-4)
COEFFICIENT_SD = 0.01
OFFSET = np.log(100.0)
"""Added to every log life, so that lives are readable."""


def simulate_fleet(
    n_assets: int = 500,
    *,
    rng: Seed = None,
    pixels: int = 21,
    images: int = 10,
    pixel_noise: float = 0.1,
    life_noise: float = 0.1,
    variance_kept: float = 0.97,
) -> Fleet:
    """Simulate the paper's heated plates, each with its image stream and its life (section 6).

    Parameters
    ----------
    n_assets : int, default 500
        Assets, at least 2. They are independent but for the coefficients that their lives share.
    rng : int, numpy.random.Generator or None
        The same seed gives the same fleet. None: another fleet each time.
    pixels : int, default 21
        An image has `pixels` x `pixels` points, evenly spaced inside the plate.
    images : int, default 10
        At t = 150/images, 300/images, ..., 150; from 1 to 150.
    pixel_noise : float, default 0.1
        Standard deviation of the noise on each pixel.
    life_noise : float, default 0.1
        Standard deviation of the noise on each log life.
    variance_kept : float, default 0.97
        Share of variation that the projections behind the lives keep in each mode.

    Returns
    -------
    Fleet
        Streams (asset, pixels, pixels, images) and lives, all failed. It declares no clock: the t of the images has
        nothing to do with the unit of the lives.

    Examples
    --------
    >>> import fedmpca as fm
    >>> fm.simulate_fleet(40, rng=0).shape
    (40, 21, 21, 10)
    """
    _check_count("n_assets", n_assets, 2)
    _check_sd("life_noise", life_noise)
    generator = _generator(rng)
    streams = heat_streams(n_assets, rng=generator, pixels=pixels, images=images, pixel_noise=pixel_noise)
    lives = lives_from(streams, rng=generator, life_noise=life_noise, variance_kept=variance_kept)
    width = max(3, len(str(n_assets)))
    return Fleet(streams, lives=lives, ids=[f"asset-{number:0{width}d}" for number in range(1, n_assets + 1)])


def heat_streams(
    n_assets: int, *, rng: Seed = None, pixels: int = 21, images: int = 10, pixel_noise: float = 0.1
) -> Floats:
    """Image streams (asset, x, y, time) of plates with diffusivities U(0.5e-4, 1e-4), with noise on each pixel."""
    _check_count("n_assets", n_assets, 1)
    _check_count("pixels", pixels, 1)
    _check_count("images", images, 1, LAST)
    _check_sd("pixel_noise", pixel_noise)
    _check_size(n_assets, pixels, images)
    generator = _generator(rng)
    diffusivity = generator.uniform(*DIFFUSIVITY, size=n_assets)
    places = SIDE * np.arange(1, pixels + 1) / (pixels + 1)
    elapsed = LAST * np.arange(1, images + 1) / images - 1.0  # t = 1 is the initial state
    streams = plate(diffusivity, places, elapsed)
    streams += generator.normal(0.0, pixel_noise, size=streams.shape)
    return streams


def plate(diffusivity: Floats, places: Floats, elapsed: Floats) -> Floats:
    """The plate's heat (asset, x, y, time), exact: 30 - 30 S(x) S(y), for the equation separates.

    S solves the equation of a rod that starts at 1 with its ends held at 0.
    """
    heat = rod(diffusivity, places, elapsed)
    streams: Floats = heat[:, :, None, :] * heat[:, None, :, :]
    streams *= -EDGE
    streams += EDGE
    return streams


def rod(diffusivity: Floats, places: Floats, elapsed: Floats) -> Floats:
    """S (asset, x, time) = sum over odd k of 4/(k pi) sin(k pi x/L) exp(-a k^2), a = diffusivity (pi/L)^2 elapsed."""
    rate = (pi / SIDE) ** 2 * diffusivity[:, None] * elapsed[None, :]  # (asset, time)
    k = _odd_numbers(rate)
    shapes = 4.0 / (k * pi) * np.sin(k * pi * places[:, None] / SIDE)  # (x, k)
    decay = np.exp(-(k[:, None] ** 2) * rate[:, None, :])  # (asset, k, time)
    solution: Floats = shapes @ decay
    return np.where(rate[:, None, :] > 0, solution, 1.0)  # at the start the series only converges in the mean


def _odd_numbers(rate: Floats) -> Floats:
    """The k of the series that are needed: for the paper's images 1, 3, ..., 15, eight terms.

    What is left out from k = K on is at most exp(-a K^2) (4/(K pi) + 1/(pi a K^2)): the first term, and the integral
    over steps of 2 for the rest. K >= 3 and a K^2 >= 40 make that less than 2e-18, and the plate's error less than
    60 times it, 1.2e-16, where float64 itself rounds 30 to 3.6e-15.
    """
    smallest = float(np.min(rate, where=rate > 0, initial=40.0))
    return np.arange(1, max(3, ceil(sqrt(40.0 / smallest)) + 1), 2, dtype=np.float64)


def lives_from(streams: Floats, *, rng: Seed = None, life_noise: float = 0.1, variance_kept: float = 0.97) -> Floats:
    """Lives (asset,) by the paper's regression on features: log life = log 100 + b0 + <features, b> + noise.

    The features come from MPCA's projections with N(0, 1) noise on each entry, as the section prints it, of centred
    streams. b0 and each entry of b are N(0, 0.01^2).
    """
    _check_sd("life_noise", life_noise)
    generator = _generator(rng)
    mpca = MPCA(variance_kept=variance_kept).fit(streams)
    projections = [factor + generator.normal(size=factor.shape) for factor in mpca.factors_]
    features = project(streams - mpca.mean_, projections).reshape(len(streams), -1)
    intercept = generator.normal(0.0, COEFFICIENT_SD)
    coefficients = generator.normal(0.0, COEFFICIENT_SD, size=features.shape[1])
    noise = generator.normal(0.0, life_noise, size=len(streams))
    log_lives = OFFSET + intercept + features @ coefficients + noise
    if not np.abs(log_lives).max() <= 700.0:
        raise DataError(
            f"life_noise={life_noise!r}, or the noise on the pixels, gives lives beyond what a float can hold: in the "
            "paper both are 0.1, life_noise as the standard deviation of the log life; give less."
        )
    lives: Floats = np.exp(log_lives)
    return lives


def _generator(rng: Any) -> np.random.Generator:
    if isinstance(rng, np.random.Generator) or rng is None:
        return np.random.default_rng(rng)
    if not isinstance(rng, Integral) or isinstance(rng, bool) or rng < 0:
        raise DataError(f"rng={rng!r} must be a whole number, 0 or more, a numpy.random.Generator, or None.")
    return np.random.default_rng(int(rng))


def _check_count(name: str, value: Any, least: int, most: float = np.inf) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        bound = f"from {least} to {most}" if most < np.inf else f"of at least {least}"
        raise DataError(f"{name}={value!r} must be a whole number {bound}.")


def _check_size(n_assets: int, pixels: int, images: int) -> None:
    n_bytes = 8 * int(n_assets) * int(pixels) ** 2 * int(images)
    if n_bytes > sys.maxsize:
        raise DataError(
            f"n_assets={n_assets}, pixels={pixels} and images={images} are streams of {n_bytes:.1e} bytes, more than "
            "any machine can address: give fewer."
        )


def _check_sd(name: str, value: Any) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= sys.float_info.max:
        raise DataError(f"{name}={value!r} is a standard deviation: give a finite number, 0 for no noise.")
