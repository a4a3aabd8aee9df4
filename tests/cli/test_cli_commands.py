"""What each command does, writes and prints, where all is well."""

import json

import numpy as np
import pytest
from command_runs import done, run

import fedmpca as fm


@pytest.fixture(scope="module")
def plates(tmp_path_factory):
    """Three fleets on disk, as the command writes them."""
    folder = tmp_path_factory.mktemp("simulated") / "plates"
    folder.mkdir()  # an empty folder will do
    done("simulate", "--out", folder, "--members", "8,5", "--assets", 15, "--seed", 3)
    return folder


@pytest.fixture
def model(tmp_path):
    return tmp_path / "plates.fedmpca"


def pairs(out):
    """What `show_pairs` printed."""
    return dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)


def found(out):
    return {name: value.strip() for name, value in pairs(out).items()}


# simulate


def test_simulate_shares_one_fleet_out(plates):
    whole = fm.simulate_fleet(15, rng=3)
    assert sorted(path.name for path in plates.iterdir()) == ["test", "user-1", "user-2"]
    for name, part in (("user-1", whole[:8]), ("user-2", whole[8:13]), ("test", whole[13:])):
        fleet = fm.load_fleet(plates / name)
        assert np.asarray(fleet.streams).tobytes() == part.streams.tobytes()
        assert fleet.lives.tobytes() == part.lives.tobytes()
        assert fleet.ids.tolist() == part.ids.tolist()
        assert not fleet.declares_clock


def test_simulate_prints_what_it_wrote(tmp_path):
    out = done("simulate", "--out", tmp_path / "new" / "folder", "--members", "2, 1", "--assets", "3")
    lines = [line.split("  ") for line in out.splitlines()]
    assert [[cell.strip() for cell in line if cell.strip()] for line in lines] == [
        ["fleet", "assets", "stream"],
        ["-" * len(str(tmp_path / "new" / "folder" / "user-1")), "-" * 6, "-" * 12],
        [str(tmp_path / "new" / "folder" / "user-1"), "2", "21 x 21 x 10"],
        [str(tmp_path / "new" / "folder" / "user-2"), "1", "21 x 21 x 10"],
    ]  # and no DIR/test, since no asset remains


# fit


def test_fit_writes_the_model_that_the_library_fits(plates, model):
    out = found(done("fit", plates / "user-1", "-o", model, "--ranks", "2,3,1", "--tol", "1e-4", "--max-iter", "7"))
    expected = fm.MPCA(ranks=(2, 3, 1), tol=1e-4, max_iter=7).fit(fm.load_fleet(plates / "user-1"))
    fitted = fm.load(model)
    assert fitted.get_params() == expected.get_params()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(fitted.factors_, expected.factors_, strict=True))
    assert out == {
        "model": str(model),
        "class": "MPCA",
        "assets": "8",
        "stream shape": "21 x 21 x 10",
        "ranks": "2 x 3 x 1",
        "captured": f"{100 * fitted.captured_ratio_:.2f} % of the variation",
        "share per mode": ", ".join(
            f"{100 * values[:rank].sum() / values.sum():.2f} %"
            for values, rank in zip(fitted.spectra_, fitted.ranks_, strict=True)
        ),
        "sweeps": str(fitted.n_iter_),
        "converged": "yes",
    }


def test_what_is_not_given_is_the_library_s_default(plates, model):
    done("fit", plates / "user-1" / "fleet.csv", "-o", model)
    assert fm.load(model).get_params() == fm.MPCA().get_params()
    done("fit", plates / "user-1", "-o", model, "--variance-kept", "0.5", "--device", "cpu", "--model", "mpca")
    assert fm.load(model).get_params() == fm.MPCA(variance_kept=0.5, device="cpu").get_params()


def test_a_smaller_memory_limit_gives_the_same_bits(plates, model):
    written = []
    for limit in ("1GB", "50 kB", "1"):
        done("fit", plates / "user-1", "-o", model, "--ranks", "2,2,2", "--memory-limit", limit)
        written.append(model.read_bytes())
    assert written[0] == written[1] == written[2]


def test_fit_prints_json_for_programs(plates, model):
    out = json.loads(done("fit", plates / "test", "-o", model, "--ranks", "1,1,1", "--json"))
    fitted = fm.load(model)
    assert (out["model"], out["class"], out["assets"]) == (str(model), "MPCA", 2)
    assert (out["stream_shape"], out["ranks"]) == ([21, 21, 10], [1, 1, 1])
    assert out["captured"] == fitted.captured_ratio_
    assert out["share_per_mode"] == [float(values[0] / values.sum()) for values in fitted.spectra_]
    assert (out["sweeps"], out["converged"]) == (fitted.n_iter_, True)


def test_warnings_are_lines_on_standard_error(plates, model):
    few = ("fit", plates / "user-1", "-o", model, "--ranks", "4,4,4", "--max-iter", 1, "--tol", "1e-15", "--json")
    code, out, err = run(*few)
    assert code == 0
    assert json.loads(out)["converged"] is False
    assert err.startswith("Warning: MPCA did not converge in max_iter=1 sweeps: ")
    assert err.count("\n") == 1
    assert fm.load(model).n_iter_ == 1


def test_covariates_are_read_where_named(plates, tmp_path, model):
    fleet = fm.Fleet(np.random.default_rng(0).normal(size=(3, 2, 2)), covariates={"load": [1, 2, 3]})
    fm.save_fleet(fleet, tmp_path / "fleet")
    done("fit", tmp_path / "fleet", "-o", model, "--covariates", " load ")
    assert fm.load(model).n_assets_ == 3


# inspect


def test_inspect_of_a_model_says_what_fit_said_and_its_parameters(plates, model):
    said = found(done("fit", plates / "user-1", "-o", model, "--ranks", "2,2,2"))
    again = found(done("inspect", model))
    parameters = again.pop("parameters")
    assert again == said
    assert parameters == ", ".join(f"{name}={value!r}" for name, value in fm.load(model).get_params().items())
    as_json = json.loads(done("fit", plates / "user-1", "-o", model, "--ranks", "2,2,2", "--json"))
    again = json.loads(done("inspect", model, "--json"))
    assert again.pop("parameters") == {**fm.MPCA().get_params(), "ranks": [2, 2, 2]}
    assert again == as_json


@pytest.mark.parametrize(
    "given",
    [
        {"ranks": np.array([2, 2])},
        {"ranks": [np.int64(2), np.int64(2)]},
        {"tol": float("inf")},
        {"tol": np.float32(0.5), "max_iter": np.int64(3)},
    ],
)
def test_inspect_has_json_for_every_parameter(given, model):
    fm.save(fm.MPCA(**given).fit(np.random.default_rng(0).normal(size=(9, 3, 4))), model)
    parameters = json.loads(done("inspect", model, "--json"))["parameters"]
    expected = {"ranks": [2, 2], "tol": "inf" if given.get("tol") == float("inf") else 0.5, "max_iter": 3}
    assert {name: parameters[name] for name in given} == {name: expected[name] for name in given}


def test_inspect_of_a_fleet(plates, tmp_path):
    path = plates / "user-2"
    lives = fm.load_fleet(path).lives
    for asked in (path, path / "fleet.csv"):
        assert found(done("inspect", asked, "--memory-limit", "1 MB")) == {
            "fleet": str(asked),
            "assets": "5",
            "stream shape": "21 x 21 x 10",
            "images": "10",
            "dtype": "float64",
            "lives": f"{lives.min():.4g} to {lives.max():.4g}",
            "failed": "5",
            "running": "0",
            "ages of images": "not given (numbered 1, 2, 3, ...)",
        }
    assert json.loads(done("inspect", path, "--json")) == {
        "fleet": str(path),
        "assets": 5,
        "stream_shape": [21, 21, 10],
        "shortest_stream": 10,
        "dtype": "float64",
        "failed": 5,
        "running": 0,
        "lives": [lives.min(), lives.max()],
        "ages_given": False,
    }


def test_inspect_of_fleets_of_other_kinds(tmp_path):
    ragged = [np.zeros((2, length), "float32") for length in (3, 5, 4)]
    fm.save_fleet(fm.Fleet(ragged, lives=[1, 2, 3], events=[1, 0, 1], times=range(5)), tmp_path / "ragged")
    out = found(done("inspect", tmp_path / "ragged"))
    assert (out["images"], out["stream shape"], out["failed"], out["running"]) == ("3 to 5", "2 x 5", "2", "1")
    assert out["ages of images"] == "given"
    fm.save_fleet(fm.Fleet(np.zeros((2, 3))), tmp_path / "table")
    assert found(done("inspect", tmp_path / "table"))["lives"] == "unknown"
    out = json.loads(done("inspect", tmp_path / "table", "--json"))
    assert (out["lives"], out["failed"], out["running"]) == (None, None, None)
