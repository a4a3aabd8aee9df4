"""Each refusal names the value, where it stands, and the way out."""

import numpy as np
import pandas as pd
import pytest

import fedmpca as fm
from fedmpca.errors import DataError, FedMPCAError, MissingExtraError, NotConvergedWarning


def streams(assets=8, shape=(4, 3, 5), seed=0):
    return np.random.default_rng(seed).normal(size=(assets, *shape))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranks": (2, 2)}, r"ranks=\(2, 2\) names 2 mode\(s\), but a stream of shape \(4, 3, 5\) has 3"),
        ({"ranks": (2, 0, 2)}, r"rank 0 of mode 1 is not between 1 and the mode's length 3"),
        ({"ranks": (2, 4, 2)}, r"rank 4 of mode 1 is not between 1 and the mode's length 3"),
        ({"ranks": (-1, 2, 2)}, r"rank -1 of mode 0"),
        ({"ranks": (1.5, 2, 2)}, r"ranks=\(1.5, 2, 2\) must be whole numbers"),
        ({"ranks": (True, 2, 2)}, r"must be whole numbers"),
        ({"ranks": "22"}, r"ranks='22' must be whole numbers"),
        ({"ranks": 2}, r"names 1 mode\(s\)"),
        ({"variance_kept": 0}, r"variance_kept=0 must be above 0 and at most 1"),
        ({"variance_kept": 1.01}, r"variance_kept=1.01"),
        ({"variance_kept": float("nan")}, r"variance_kept=nan"),
        ({"variance_kept": "97%"}, r"variance_kept='97%'"),
        ({"tol": -1e-3}, r"tol=-0.001 must be 0 or more"),
        ({"tol": None}, r"tol=None"),
        ({"max_iter": 0}, r"max_iter=0 must be a whole number, 1 or more"),
        ({"max_iter": 2.5}, r"max_iter=2.5 must be a whole number"),
        ({"missing": "drop"}, r"missing='drop' is not known"),
        ({"missing": "complete"}, r"missing='complete' is not known: this version has missing='error'"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        fm.MPCA(**parameters).fit(streams())


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(5), r"Expected 2D array, got 1D array|one of shape \(5,\)"),
        (np.float64(3), r"[Ee]xpected|shape \(\)"),
        (np.zeros((0, 3, 4)), r"\(0, 3, 4\).*(no assets|holds no values)"),
        (np.zeros((3, 0, 4)), r"\(3, 0, 4\).*holds no values"),
        (np.array([[["a"]], [["b"]]]), r"dtype <U1"),
        (np.full((3, 2, 2), None), r"dtype object"),
        (np.ones((3, 2, 2), complex), r"dtype complex128"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], r"their shapes differ.*prefix"),
        (np.ones((3, 2, 2)), r"All 3 streams are the same.*no variation"),
        (np.full((5, 4), 1 / 3), r"All 5 streams are the same"),
        (streams(1), r"1 sample.*at least two"),
    ],
)
def test_arrays(x, message):
    with pytest.raises(ValueError, match=message):
        fm.MPCA().fit(x)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_missing_and_infinite_pixels_are_named_with_their_asset(value, name, dtype):
    x = streams().astype(dtype)
    x[5, 1, 2, 3] = value
    with pytest.raises(DataError, match=rf"asset 5 has {name} at \(1, 2, 3\).*fm.complete"):
        fm.MPCA(ranks=(2, 2, 2)).fit(x)
    with pytest.raises(DataError, match=rf"asset 5 \(id 'pump-5'\) has {name} at \(1, 2, 3\)"):
        fm.MPCA(ranks=(2, 2, 2)).fit(fm.Fleet(x, ids=[f"pump-{place}" for place in range(8)]))
    model = fm.MPCA(ranks=(2, 2, 2)).fit(streams())
    with pytest.raises(DataError, match=rf"asset 5 has {name} at \(1, 2, 3\)"):
        model.transform(x)


def test_values_too_large_to_square():
    with pytest.raises(DataError, match=r"overflow float64.*below 1e150"), np.errstate(over="ignore", invalid="ignore"):
        fm.MPCA(ranks=(2, 2, 2)).fit(1e200 * streams())


def test_a_ragged_fleet_points_to_prefix():
    fleet = fm.Fleet([streams(1, (4, 3, length))[0] for length in (5, 3, 7)])
    with pytest.raises(DataError, match=r"3 to 7 images.*fleet.prefix\(3\)"):
        fm.MPCA().fit(fleet)


def test_streams_of_another_shape():
    model = fm.MPCA(ranks=(2, 2, 2)).fit(streams())
    with pytest.raises(DataError, match=r"shape \(4, 3, 6\) does not belong.*\(4, 3, 5\)"):
        model.transform(streams(shape=(4, 3, 6)))
    with pytest.raises(DataError, match=r"shape \(4, 15\) does not belong"):
        model.transform(streams().reshape(8, 4, 15))
    with pytest.raises(DataError, match=r"Features of shape \(8, 2, 2\).*\(asset, 2, 2, 2\), or \(asset, 8\)"):
        model.inverse_transform(np.zeros((8, 2, 2)))


def test_a_table_of_other_columns_is_refused_as_scikit_learn_does():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=list("abc"))
    model = fm.MPCA(ranks=(2,)).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename(columns={"a": "z"}))


def test_too_few_sweeps_warn_with_what_was_gained():
    with pytest.warns(NotConvergedWarning, match=r"max_iter=1 sweeps: the last gained .* more than tol=1e-12"):
        fm.MPCA(ranks=(2, 2, 2), tol=1e-12, max_iter=1).fit(streams())


def test_a_device_needs_its_library(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'device=.cuda.*pip install "fedmpca\[torch\]"'):
        fm.MPCA(device="cuda").fit(streams())


def test_a_device_that_is_not_there_is_named(monkeypatch):
    """PyTorch raises RuntimeError for whatever is wrong with a device; it is not installed for the tests."""
    import sys
    from types import SimpleNamespace

    def asarray(streams, device):
        raise RuntimeError(f"no such device: {device}\nwith a long list below")

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(asarray=asarray))
    with pytest.raises(DataError, match=r"device='cuda:9': no such device: cuda:9\. Leave device=None"):
        fm.MPCA(device="cuda:9").fit(streams())


def test_every_refusal_can_be_caught_as_one():
    for bad in (lambda: fm.MPCA(ranks=(9, 9, 9)).fit(streams()), lambda: fm.load("nowhere.fedmpca")):
        with pytest.raises(FedMPCAError):
            bad()
