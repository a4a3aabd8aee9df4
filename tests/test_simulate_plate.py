"""The heated plates of the paper's section 6, against other solutions of the heat equation."""

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import erfc
from scipy.stats import kstest

from fedmpca.simulate import heat_streams, plate, rod

SIDE, EDGE = 0.2, 30.0
SLOW, FAST = 0.5e-4, 1e-4
IMAGES = np.arange(15, 151, 15) - 1.0  # elapsed: t = 1 is the initial state


def inside(pixels):
    return SIDE * np.arange(1, pixels + 1) / (pixels + 1)


# The plate


def rod_by_images(diffusivity, x, elapsed):
    """The rod by reflected sources instead of a Fourier series: another expansion of the same solution.

    S = 1 - sum over n of (-1)^n [erfc((nL + x)/r) + erfc(((n+1)L - x)/r)], r = sqrt(4 alpha t).
    """
    reach = np.sqrt(4 * diffusivity * elapsed)
    n = np.arange(200)[:, None]
    terms = erfc((n * SIDE + x) / reach) + erfc(((n + 1) * SIDE - x) / reach)
    return 1 - np.sum((-1.0) ** n * terms, axis=0)


@pytest.mark.parametrize("diffusivity", [SLOW, 0.77e-4, FAST, 1e-8, 1e-2])
@pytest.mark.parametrize("elapsed", [0.5, 1.0, 14.0, 149.0])
def test_the_rod_is_what_reflected_sources_give(diffusivity, elapsed):
    x = inside(21)
    found = rod(np.array([diffusivity]), x, np.array([elapsed]))[0, :, 0]
    np.testing.assert_allclose(found, rod_by_images(diffusivity, x, elapsed), rtol=0, atol=5e-14)


def plate_by_lines(diffusivity, intervals, elapsed):
    """The plate by finite differences in space and an implicit solver in time, which knows nothing of series."""
    count = intervals - 1
    second = sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(count, count)) * (intervals / SIDE) ** 2
    laplace = diffusivity * (sparse.kron(second, sparse.eye(count)) + sparse.kron(sparse.eye(count), second)).tocsc()
    ends = np.isin(np.arange(count), (0, count - 1)).astype(float)
    edges = diffusivity * EDGE * (intervals / SIDE) ** 2 * np.add.outer(ends, ends)
    solved = solve_ivp(
        lambda t, heat: laplace @ heat + edges.ravel(),
        (0, elapsed[-1]),
        np.zeros(count**2),
        method="BDF",
        t_eval=elapsed,
        jac=lambda t, heat: laplace,
        rtol=1e-6,
        atol=1e-6,
    )
    return solved.y.reshape(count, count, -1)


def test_the_plate_is_what_finite_differences_give():
    elapsed = np.array([14.0, 74.0, 149.0])
    coarse, fine = (plate_by_lines(0.8e-4, n, elapsed) for n in (16, 32))
    # Richardson's combination cancels the differences' h^2; what is left is below 0.002 of 30 degrees.
    expected = (4 * fine[1::2, 1::2] - coarse) / 3
    found = plate(np.array([0.8e-4]), inside(15), elapsed)[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3)
    other = plate(np.array([0.81e-4]), inside(15), elapsed)[0]
    assert np.abs(other - expected).max() > 0.1  # so the bound tells this plate from another


def test_edges_are_hot_and_the_inside_begins_cold():
    x = np.array([0.0, 1e-12, 0.1, SIDE])
    heat = plate(np.array([SLOW, FAST]), x, np.array([0.0, 1e-9, 1.0, 1e6]))
    np.testing.assert_array_equal(heat[:, 1:3, 1:3, 0], 0)
    np.testing.assert_allclose(heat[:, [0, -1], :, 1:], EDGE, atol=1e-12)
    np.testing.assert_allclose(heat[:, :, [0, -1], 1:], EDGE, atol=1e-12)
    np.testing.assert_allclose(heat[..., -1], EDGE, atol=1e-12)
    assert np.abs(heat[:, 2, 2, 1]).max() < 1e-12


def test_heat_rises_in_time_and_with_diffusivity_and_is_symmetric():
    heat = plate(np.array([SLOW, 0.7e-4, FAST]), inside(9), IMAGES)
    assert (np.diff(heat, axis=-1) > 0).all()
    assert (np.diff(heat, axis=0) > 0).all()
    assert ((heat > 0) & (heat < EDGE)).all()
    np.testing.assert_array_equal(heat, heat.swapaxes(1, 2))
    np.testing.assert_allclose(heat, heat[:, ::-1], atol=1e-12)


# Streams


def test_images_are_spread_over_the_time_and_t_1_is_the_initial_state():
    every = heat_streams(3, rng=0, pixels=5, images=150, pixel_noise=0)
    assert (every[..., 0] == 0).all()
    assert (every[..., 1].max(axis=(1, 2)) > 0.05).all()
    for images in (1, 10, 50):
        some = heat_streams(3, rng=0, pixels=5, images=images, pixel_noise=0)
        np.testing.assert_array_equal(some, every[..., 150 // images - 1 :: 150 // images])


def test_noise_has_the_paper_s_standard_deviation():
    noise = heat_streams(100, rng=3) - heat_streams(100, rng=3, pixel_noise=0)
    assert noise.size == 441_000
    assert abs(noise.std() - 0.1) < 5e-4  # five standard errors
    assert abs(noise.mean()) < 8e-4
    assert kstest(noise[::7].ravel() / 0.1, "norm").pvalue > 0.01
    neighbours = [np.corrcoef(noise.take(range(1, n), k).ravel(), noise.take(range(n - 1), k).ravel())[0, 1]
                  for k, n in enumerate(noise.shape)]  # fmt: skip
    assert np.abs(neighbours).max() < 0.01


def test_diffusivities_are_uniform_within_their_bounds():
    centre = heat_streams(400, rng=5, pixels=1, images=2, pixel_noise=0)[:, 0, 0, 0]

    def heat(diffusivity):
        return EDGE - EDGE * rod_by_images(diffusivity, 0.1, 74.0)[0] ** 2

    found = np.array([brentq(lambda a, value=value: heat(a) - value, 1e-5, 5e-4, xtol=1e-12) for value in centre])
    assert SLOW <= found.min() < 1.02 * SLOW
    assert FAST >= found.max() > 0.98 * FAST
    assert kstest(found, "uniform", (SLOW, FAST - SLOW)).pvalue > 0.01
