"""The paper's theorem: the federation learns what pooling would learn. Every profile, every kind of member."""

import os
from pathlib import Path

import numpy as np
import pytest
import tensorly.datasets
from federations import PROFILES, difference, federated, low_rank, split
from sklearn.datasets import load_digits

import fedmpca as fm

TOLERANCE = {"secure": (1e-10, 1e-13), "plain": (1e-10, 1e-13), "paper": (1e-8, 1e-11)}
"""Of subspaces relative to the gap, and of Psi. The paper's masks are real numbers: adding one of size V and taking it
away again leaves rounding of V times the machine's epsilon in the mean, where the ring leaves nothing."""


def check(streams, counts, profile, ranks, sweeps=6):
    parameters = {"ranks": ranks, "tol": 0, "max_iter": sweeps}
    pooled = fm.MPCA(**parameters).fit(streams)
    joined = federated(fm.MPCA(**parameters), split(streams, counts), profile)
    angle, psi = difference(joined, pooled, streams)
    most_angle, most_psi = TOLERANCE[profile]
    assert angle <= most_angle
    assert psi <= most_psi
    assert joined.n_assets_ == len(streams)
    scale = np.abs(streams).max()
    np.testing.assert_allclose(joined.mean_, pooled.mean_, rtol=1e-9, atol=1e-13 * scale)
    for ours, theirs in zip(joined.spectra_, pooled.spectra_, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=most_psi * theirs[0] * 10)
    assert joined.total_scatter_ == pytest.approx(pooled.total_scatter_, rel=most_psi * 10)
    return joined


COUNTS = {
    "2 members": [25, 15],
    "3 members, unequal": [25, 10, 5],
    "3 members of one asset each but one": [1, 38, 1],
    "5 members": [3, 9, 14, 4, 10],
    "10 members": [4] * 10,
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_any_number_of_members(counts, profile):
    check(low_rank(40), counts, profile, (3, 2, 2))


@pytest.mark.parametrize("profile", PROFILES)
def test_fifty_members_of_one_asset_each(profile):
    check(low_rank(50), [1] * 50, profile, (3, 2, 2), sweeps=2)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("shape", "ranks"), [((9,), (3,)), ((8, 7), (3, 2)), ((5, 4, 3, 4), (2, 2, 2, 2))])
def test_streams_of_any_order(shape, ranks, profile):
    check(low_rank(30, shape, ranks), [15, 10, 5], profile, ranks)


@pytest.mark.parametrize("profile", PROFILES)
def test_members_without_much_to_say(profile):
    """One whose streams are all alike (no scatter of its own), one of zeros, one in a single direction."""
    streams = low_rank(40)
    streams[:5] = streams[0]
    streams[5:9] = 0
    streams[9:20] = streams[9] * np.linspace(0.5, 1.5, 11)[:, None, None, None]
    check(streams, [5, 4, 11, 20], profile, (3, 2, 2))


@pytest.mark.parametrize("profile", PROFILES)
def test_members_with_very_different_means(profile):
    """Centring at home would lose what lies between the members."""
    streams = low_rank(40, mean=0.0)
    streams[:20] += 100
    streams[20:30] -= 300
    joined = check(streams, [20, 10, 10], profile, (3, 2, 2))
    alone = fm.MPCA(ranks=(3, 2, 2)).fit(streams[:20])
    assert joined.total_scatter_ > 100 * alone.total_scatter_


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_any_unit(scale, profile):
    check(scale * low_rank(40), [20, 12, 8], profile, (3, 2, 2))


@pytest.mark.parametrize("profile", PROFILES)
def test_heat_streams_with_ranks_by_share(profile):
    fleet = fm.simulate_fleet(120, rng=0)
    parts = {"user-1": fleet[:70], "user-2": fleet[70:105], "user-3": fleet[105:]}
    pooled = fm.MPCA(variance_kept=0.99).fit(fleet)
    joined = federated(fm.MPCA(variance_kept=0.99), parts, profile)
    assert joined.ranks_ == pooled.ranks_
    assert joined.n_iter_ == pooled.n_iter_
    angle, psi = difference(joined, pooled, fleet.streams)
    assert angle <= TOLERANCE[profile][0]
    assert psi <= TOLERANCE[profile][1]


@pytest.mark.parametrize("profile", PROFILES)
def test_real_tensors(profile):
    digits = load_digits().images[:300]
    check(digits, [150, 100, 50], profile, (4, 4), sweeps=20)
    serology = np.nan_to_num(tensorly.datasets.load_covid19_serology()["tensor"])
    check(serology, [200, 150, 88], profile, (2, 3), sweeps=20)


SEVERSON = Path(os.environ.get("FEDMPCA_DATA", Path(__file__).parents[3] / "shared" / "data")) / "severson"


@pytest.mark.skipif(not SEVERSON.is_dir(), reason="the battery data are not here: FEDMPCA_DATA names their folder")
@pytest.mark.parametrize("profile", PROFILES)
def test_battery_cells(profile):
    """124 cells, voltage by cycle, as float32; six have one wild cycle, which is data like any other here."""
    with np.load(next(SEVERSON.glob("*.npz")), allow_pickle=False) as archive:
        cells = np.concatenate([archive[name] for name in ("Q_train", "Q_test1", "Q_test2")])
    check(cells, [70, 40, 14], profile, (3, 3))


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_streams_that_are_stored_small(dtype):
    streams = (20 * low_rank(40, mean=5)).astype(dtype)
    check(streams, [20, 12, 8], "secure", (3, 2, 2))


def bits(model):
    arrays = [model.mean_, *model.factors_, *model.spectra_, model.captured_]
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def test_masks_change_no_bit():
    parts = split(low_rank(40), [20, 12, 8])
    secure, plain = (federated(fm.MPCA(ranks=(3, 2, 2)), parts, profile) for profile in ("secure", "plain"))
    assert bits(secure) == bits(plain)


def test_the_order_of_the_members_changes_no_bit():
    """Sums in the ring are exact, so it does not matter who is added first (or has which number, by its new key)."""
    parts = split(low_rank(40), [20, 12, 8])
    turned = dict(reversed(list(parts.items())))
    found = {tuple(bits(federated(fm.MPCA(ranks=(3, 2, 2)), each))) for each in (parts, turned, parts)}
    assert len(found) == 1


def test_a_federation_may_be_fitted_many_times():
    federation = fm.Federation.in_process(split(low_rank(40), [20, 12, 8]))
    first = fm.MPCA(ranks=(3, 2, 2)).fit(federation)
    other = fm.MPCA(ranks=(1, 1, 1)).fit(federation)
    assert other.ranks_ == (1, 1, 1)
    assert bits(fm.MPCA(ranks=(3, 2, 2)).fit(federation)) == bits(first)


def test_features_of_a_federation_stay_with_their_members():
    streams = low_rank(40)
    parts = split(streams, [20, 12, 8])
    federation = fm.Federation.in_process(parts)
    model = fm.MPCA(ranks=(3, 2, 2)).fit(federation)
    features = federation.transform(model)
    assert features.names == federation.names
    assert features.stream_shape == (12,)
    again = fm.MPCA(ranks=(12,)).fit(features)
    expected = np.cov(model.transform(streams).reshape(40, -1).T, bias=True)
    assert again.total_scatter_ == pytest.approx(40 * np.trace(expected), rel=1e-12)
