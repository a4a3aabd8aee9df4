"""Simulated fleets: their lives against READINGS ("The numerical study"), their seeds, and what is refused."""

import numpy as np
import pytest

import fedmpca as fm
from fedmpca.errors import DataError
from fedmpca.simulate import heat_streams, lives_from, simulate_fleet

# Lives: log life = log 100 + b0 + b <noisy projections, centred stream> + noise, the features' ranks from 97 %

TINY = {"pixels": 3, "images": 2}
"""Few enough cells (18) that the regression behind the lives can be read off them exactly."""


def regression(streams, lives):
    """Intercept at the mean stream, weight of each cell, and what the cells do not explain."""
    cells = (streams - streams.mean(axis=0)).reshape(len(streams), -1)
    design = np.column_stack([np.ones(len(cells)), cells])
    weights, *_ = np.linalg.lstsq(design, np.log(lives), rcond=None)
    return weights[0], weights[1:].reshape(streams.shape[1:]), np.log(lives) - design @ weights


def multilinear_rank(weights):
    """Rank of each unfolding, to within rounding."""
    unfolded = [np.moveaxis(weights, mode, 0).reshape(weights.shape[mode], -1) for mode in range(weights.ndim)]
    return tuple(int(np.linalg.matrix_rank(rows, tol=1e-7 * np.linalg.norm(rows))) for rows in unfolded)


def test_97_percent_of_these_streams_is_one_feature():
    fleet = simulate_fleet(200, rng=0)
    assert fm.MPCA(variance_kept=0.97).fit(fleet).ranks_ == (1, 1, 1)


@pytest.mark.parametrize("seed", range(3))
def test_log_lives_are_linear_in_a_feature_of_ranks_1_1_1(seed):
    fleet = simulate_fleet(100, rng=seed, life_noise=0, **TINY)
    intercept, weights, rest = regression(fleet.streams, fleet.lives)
    assert np.abs(rest).max() < 1e-10
    assert abs(intercept - np.log(100)) < 0.05
    assert multilinear_rank(weights) == (1, 1, 1)
    full = simulate_fleet(100, rng=seed, life_noise=0, variance_kept=1.0, **TINY)
    assert multilinear_rank(regression(full.streams, full.lives)[1]) == (3, 3, 2)


def test_coefficients_have_the_paper_s_spread_and_projections_their_noise():
    read = [
        regression(f.streams, f.lives) for f in (simulate_fleet(25, rng=k, life_noise=0, **TINY) for k in range(400))
    ]
    intercepts = np.array([intercept for intercept, _, _ in read]) - np.log(100)
    assert abs(intercepts.mean()) < 0.002
    assert abs(intercepts.std() - 0.01) < 0.0015
    # E |b v0 v1 v2|^2 = 0.01^2 (1 + 3) (1 + 3) (1 + 2), for |u| = 1 and N(0, 1) on each entry of v; without that 1e-4.
    sizes = np.array([np.sum(weights**2) for _, weights, _ in read])
    assert 0.5 < sizes.mean() / 48e-4 < 1.5


def test_log_lives_have_the_paper_s_noise():
    for given in ({}, {"life_noise": 0.316}):
        fleet = simulate_fleet(2000, rng=1, **TINY, **given)
        _, _, rest = regression(fleet.streams, fleet.lives)
        sd = np.sqrt(np.sum(rest**2) / (2000 - 19))
        assert abs(sd / given.get("life_noise", 0.1) - 1) < 0.06  # nearly four standard errors


# The fleet


def test_what_the_fleet_says_of_itself():
    fleet = simulate_fleet(12, rng=0)
    assert fleet.shape == (12, 21, 21, 10)
    assert fleet.ids.tolist() == [f"asset-{k:03d}" for k in range(1, 13)]
    assert simulate_fleet(1000, rng=0, **TINY).ids[[0, -1]].tolist() == ["asset-0001", "asset-1000"]
    assert not fleet.declares_clock  # the t of the images has nothing to do with the unit of the lives
    assert fleet.times.tolist() == list(range(1, 11))
    assert fleet.events.all()
    assert (fleet.lives > 0).all()
    assert [fleet.upper, fleet.entry, fleet.covariates] == [None] * 3


def bits(fleet):
    return fleet.streams.tobytes() + fleet.lives.tobytes()


def test_the_same_seed_gives_the_same_bits():
    first = bits(simulate_fleet(5, rng=7))
    assert bits(simulate_fleet(5, rng=7)) == first
    assert bits(simulate_fleet(5, rng=np.int64(7))) == first
    assert bits(simulate_fleet(5, rng=np.random.default_rng(7))) == first


def test_another_seed_another_fleet():
    generator = np.random.default_rng(7)
    fleets = [simulate_fleet(5, rng=rng, **TINY) for rng in (7, 8, None, None, generator, generator)]
    assert len({bits(fleet) for fleet in fleets}) == 5  # the generator's first is that of its seed
    assert bits(fleets[4]) == bits(fleets[0])


def test_noise_on_lives_leaves_streams_alone():
    plain, noisy = (simulate_fleet(5, rng=7, life_noise=sd, **TINY) for sd in (0, 1))
    assert plain.streams.tobytes() == noisy.streams.tobytes()
    assert plain.lives.tobytes() != noisy.lives.tobytes()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"n_assets": 1}, "n_assets=1 must be a whole number of at least 2"),
        ({"n_assets": 10.0}, "n_assets=10.0 must be a whole number"),
        ({"n_assets": True}, "n_assets=True must be a whole number"),
        ({"n_assets": 10**30}, "n_assets=10{30}, pixels=21 and images=10 are streams of .* bytes.*give fewer"),
        ({"pixels": 0}, "pixels=0 must be a whole number of at least 1"),
        ({"pixels": "21"}, "pixels='21' must be a whole number"),
        ({"images": 0}, "images=0 must be a whole number from 1 to 150"),
        ({"images": 151}, "images=151 must be a whole number from 1 to 150"),
        ({"pixel_noise": -0.1}, "pixel_noise=-0.1 is a standard deviation: give a finite number"),
        ({"pixel_noise": np.nan}, "pixel_noise=nan is a standard deviation"),
        ({"pixel_noise": 10**400}, "pixel_noise=10{400} is a standard deviation"),
        ({"pixel_noise": 1e5}, "life_noise=0.1, or the noise on the pixels, gives lives beyond"),
        ({"life_noise": np.inf}, "life_noise=inf is a standard deviation"),
        ({"life_noise": "0.1"}, "life_noise='0.1' is a standard deviation"),
        ({"life_noise": True}, "life_noise=True is a standard deviation"),
        ({"life_noise": 1e4}, "life_noise=10000.0.* beyond what a float can hold.*give less"),
        ({"variance_kept": 0}, "variance_kept=0 must be above 0"),
        ({"variance_kept": 1.5}, "variance_kept=1.5 must be above 0 and at most 1"),
        ({"rng": -1}, "rng=-1 must be a whole number, 0 or more, a numpy.random.Generator, or None"),
        ({"rng": 0.5}, "rng=0.5 must be a whole number"),
        ({"rng": True}, "rng=True must be a whole number"),
        ({"rng": np.random.RandomState(0)}, r"rng=RandomState\(MT19937\).* must be a whole number"),
    ],
)
def test_bad_arguments_are_named(given, what):
    with pytest.raises(DataError, match=what):
        simulate_fleet(**{"n_assets": 3, "rng": 0, **given})


def test_parts_check_their_arguments_too():
    with pytest.raises(DataError, match="n_assets=0 must be a whole number of at least 1"):
        heat_streams(0)
    with pytest.raises(DataError, match="life_noise=-1 is a standard deviation"):
        lives_from(np.zeros((2, 1, 1)), life_noise=-1)
