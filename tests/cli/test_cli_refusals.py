"""What a command refuses: one line that names the value and the way out, exit code 1 or 2, nothing written."""

import os
import re

import numpy as np
import pytest
from command_runs import run, tree

import fedmpca as fm


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a fleet and a model, and with things that are neither."""
    folder = tmp_path_factory.mktemp("place")
    x = np.random.default_rng(0).normal(size=(4, 3, 2, 5))
    fm.save_fleet(fm.Fleet(x, lives=[1, 2, 3, 4]), folder / "fleet")
    fm.save(fm.MPCA(ranks=(1, 1, 1)).fit(x), folder / "model")
    saved = (folder / "model").read_bytes()
    (folder / "damaged").write_bytes(saved[:300] + b"?" + saved[301:])
    (folder / "short").write_bytes(saved[:-50])
    (folder / "empty").touch()
    (folder / "text.csv").write_text("a,b\n1,2\n")
    x[2, 1, 0, 3] = np.nan
    fm.save_fleet(fm.Fleet(x), folder / "gaps")
    fm.save_fleet(fm.Fleet([x[0], x[1][..., :2]]), folder / "ragged")
    fm.save_fleet(fm.Fleet(np.ones((4, 3, 2))), folder / "equal")
    (folder / "half").mkdir()
    (folder / "half" / "fleet.csv").write_text("asset_id,stream,life\na,s.npy,1\nb,s.npy,\n")
    return folder


FIT = ["fit", "fleet", "-o", "new"]
AGREE = ["agree", "--member", "a=nobody", "--coordinator", "nobody"]
REFUSED = [
    # The command was not understood
    (2, ["nonsense"], "No such command 'nonsense'"),
    (2, ["fit", "fleet"], "Missing option '-o' / '--out'"),
    (2, ["fit", "-o", "new"], "Missing argument 'FLEET"),
    (1, ["fit", "fleet", "gaps", "-o", "new"], "2 members are too few for a federation: 3 are needed.*--allow-pair"),
    (1, ["fit", "fleet", "gaps", "-o", "new", "--allow-pair"], r"^Error: gaps: asset '3' has missing pixels \(NaN\)"),
    (1, ["fit", "fleet", "ragged", "-o", "new", "--allow-pair"], "^Error: ragged: .*2 to 5 images, and 5 were"),
    (2, ["fit", "fleet", "fleet", "-o", "new", "--allow-pair"], "Two fleets lie in folders called 'fleet'"),
    (2, ["fit", "fleet", "-o", "new", "--profile", "secure"], "--profile and --allow-pair are of federations"),
    (2, ["fit", "fleet", "-o", "new", "--profile", "best"], "'best' is not one of"),
    (2, ["agree", "--member", "a", "--coordinator", "c", "--shape", "2", "-o", "new"], "'a' should be NAME=PUB"),
    (2, [*AGREE, "-o", "new"], "Give either --shape.*or --like"),
    (1, [*AGREE, "--shape", "3,4", "-o", "new"], "nobody cannot be read: No such file"),
    (1, ["inspect", "nowhere.toml"], "nowhere.toml cannot be read: No such file"),
    (2, ["inspect", "fleet", "--disclosures"], "--disclosures are of a model that a federation fitted"),
    (2, [*FIT, "--ranks", "2,x"], "'2,x' should be whole numbers of at least 1 with commas between them, as in 5,3,2"),
    (2, [*FIT, "--ranks", "0,1,1"], "'0,1,1' should be whole numbers"),
    (2, [*FIT, "--ranks", "1.5"], "'1.5' should be whole numbers"),
    (2, [*FIT, "--ranks", "²"], "'²' should be whole numbers"),
    (2, [*FIT, "--ranks", "1,1,12345678901"], "'1,1,12345678901' should be"),
    (2, [*FIT, "--ranks", ""], "'' should be whole numbers"),
    (2, [*FIT, "--variance-kept", "most"], "'most' is not a valid float"),
    (2, [*FIT, "--max-iter", "1.5"], "'1.5' is not a valid integer"),
    (2, [*FIT, "--model", "prognosis"], "'prognosis' is not 'mpca'"),
    (2, [*FIT, "--rank", "1"], "No such option '--rank'.*--ranks"),
    (2, ["inspect"], r"Missing argument 'MODEL\|FLEET'"),
    (2, ["inspect", "model", "fleet"], "unexpected extra argument .fleet"),
    (2, ["simulate", "--out", "new"], "Missing option '--members'"),
    (2, ["simulate", "--members", "5"], "Missing option '--out'"),
    (2, ["simulate", "--out", "new", "--members", "5,"], "'5,' should be whole numbers"),
    (2, ["simulate", "--out", "new", "--members", "-5"], "'-5' should be whole numbers"),
    (2, ["simulate", "--out", "new", "--members", "4,3", "--assets", "6"],
     "--members 4,3 are 7 assets together, more than --assets 6: give at least --assets 7, or smaller members"),
    (2, ["simulate", "--out", "new", "--members", "1", "--assets", "1"], "1 is not in the range x>=2"),
    (2, ["simulate", "--out", "new", "--members", "1", "--seed", "-1"], "-1 is not in the range x>=0"),
    (2, ["demo", "--out", "model"], "Directory 'model' is a file"),
    # Refused
    (1, [*FIT, "--ranks", "2,2"], r"ranks=\(2, 2\) names 2 mode.*shape \(3, 2, 5\) has 3: give one rank for each mode"),
    (1, [*FIT, "--ranks", "1,3,1"], r"ranks=\(1, 3, 1\): rank 3 of mode 1 is not between 1 and the mode's length 2"),
    (1, [*FIT, "--variance-kept", "1.5"], "variance_kept=1.5 must be above 0 and at most 1"),
    (1, [*FIT, "--variance-kept", "nan"], "variance_kept=nan must be"),
    (1, [*FIT, "--tol", "-1"], "tol=-1.0 must be 0 or more"),
    (1, [*FIT, "--max-iter", "0"], "max_iter=0 must be .*1 or more"),
    (1, [*FIT, "--covariates", "load,wind"], "no further column 'load' to be a covariate; it has: none"),
    (1, [*FIT, "--memory-limit", "much"], "memory_limit is 'much': give a positive number of bytes, such as 500000000"),
    (1, [*FIT, "--memory-limit", "0"], "memory_limit is '0': give a positive number"),
    (1, ["fit", "nowhere", "-o", "new"], "nowhere is not there: give a folder with fleet.csv"),
    (1, ["fit", "model", "-o", "new"], "model is no table: give a folder with fleet.csv"),
    (1, ["fit", ".", "-o", "new"], "holds neither fleet.csv nor fleet.parquet: write one"),
    (1, ["fit", "text.csv", "-o", "new"], "text.csv has no column 'asset_id', only a, b"),
    (1, ["fit", "half", "-o", "new"], "half/fleet.csv has no life in 1 of 2 rows .2.: lives are known for all"),
    (1, ["fit", "gaps", "-o", "new"], r"asset 2 \(id '3'\) has NaN at \(1, 0, 3\)"),
    (1, ["fit", "ragged", "-o", "new"], r"2 to 5 images, and MPCA wants one length: fleet.prefix\(2\)"),
    (1, ["fit", "equal", "-o", "new"], "All 4 streams are the same"),
    (1, ["fit", "fleet", "-o", "fleet"], "fleet is a folder: give the path of a file to write"),
    (1, ["fit", "fleet", "-o", "no/new"], "no/new cannot be written: there is no folder no. Create it first"),
    (1, ["fit", "nowhere", "-o", "no/new"], "no/new cannot be written"),  # before anything is read or computed
    (1, ["fit", "fleet", "-o", os.devnull], f"{os.devnull} is no ordinary file, and would be replaced by one"),
    (1, ["fit", "fleet", "-o", "x" * 300], "x{300} cannot be written: File name too long"),
    (1, ["inspect", "nowhere"], "nowhere does not exist: check the path"),
    (1, ["inspect", "nowhere.csv"], "nowhere.csv is not there: give a folder with fleet.csv"),
    (1, ["inspect", "damaged"], "damaged is damaged .*get it again from where it was saved"),
    (1, ["inspect", "damaged", "--json"], "damaged is damaged"),
    (1, ["inspect", "short"], "short was changed after it was saved .*get it again"),
    (1, ["inspect", "empty"], "empty is empty: get it again"),
    (1, ["inspect", "fleet/streams.npy"], "streams.npy is no model file, or was cut short"),
    (1, ["inspect", "fleet", "--memory-limit", "-1"], "memory_limit is '-1'"),
    (1, ["simulate", "--out", "fleet", "--members", "2"], "fleet exists and is not an empty folder: give a new folder"),
    (1, ["simulate", "--out", "model", "--members", "2"], "model can be no folder, since model is a file"),
    (1, ["simulate", "--out", "model/new", "--members", "2"], "model/new can be no folder, since .*model is a file"),
    (1, ["simulate", "--out", "x" * 300, "--members", "2"], "x{300} cannot be written: File name too long"),
    (1, ["simulate", "--out", "new", "--members", "2", "--assets", "9" * 30], "n_assets=9{30}, .* bytes.*give fewer"),
    (1, ["simulate", "--out", "new", "--members", "2", "--assets", "9" * 14], "Not enough memory .*take fewer assets"),
    (1, ["demo", "--out", "model/new", "--quick"], "model/new can be no folder, since .*model is a file"),
]  # fmt: skip

NAMES = [" ".join(getattr(case, "values", case)[1])[:60] for case in REFUSED]


@pytest.mark.parametrize(("code", "arguments", "what"), REFUSED, ids=NAMES)
def test_refused(code, arguments, what, place, monkeypatch):
    monkeypatch.chdir(place)
    before = tree(place)
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    *usage, last = err.splitlines()
    assert last.startswith("Error: ")
    assert usage == [] or (code == 2 and usage[0].startswith("Usage: fedmpca") and "--help" in usage[1])
    assert len(usage) <= 3
    assert re.search(what, last), last
    assert tree(place) == before


def test_without_a_command_the_help_is_shown():
    code, out, err = run()
    assert code == 2
    assert (out + err).startswith("Usage: fedmpca [OPTIONS] COMMAND")


def test_a_path_stays_as_it_was_given(tmp_path):
    odd = tmp_path / "two  spaces"
    code, _, err = run("inspect", odd)
    assert code == 1
    assert err.startswith(f"Error: {odd} does not exist")


# Errors of the system, and Ctrl-C, while something is written

FAULTS = [
    (
        OSError(28, "No space left on device", "streams.npy"),
        1,
        "Error: streams.npy: No space left on device. Check the path, its permissions, and the space that is left.\n",
    ),
    (
        MemoryError("8 EiB"),
        1,
        "Error: Not enough memory (8 EiB): take fewer assets, a smaller --memory-limit, or a larger machine.\n",
    ),
    (KeyboardInterrupt(), 130, "Interrupted: nothing half-written was left.\n"),
]


@pytest.mark.parametrize(("error", "code", "said"), FAULTS, ids=["disk", "memory", "Ctrl-C"])
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("fails", ["the second fleet", "putting the second in its place"])
def test_simulate_writes_all_fleets_or_none(error, code, said, there, fails, tmp_path, monkeypatch):
    out = tmp_path / "a" / "b"
    if there:
        out.mkdir(parents=True)
    calls = []

    def failing(real):
        def call(*arguments):
            calls.append(arguments)
            if len(calls) == 2:
                raise error
            return real(*arguments)

        return call

    if fails == "the second fleet":
        monkeypatch.setattr("fedmpca.fleets.save_fleet", failing(fm.save_fleet))
    else:
        monkeypatch.setattr("pathlib.Path.rename", failing(type(tmp_path).rename))
    before = tree(tmp_path)
    assert run("simulate", "--out", out, "--members", "2,2", "--assets", 5) == (
        code,
        "",
        said,
    )
    assert len(calls) == 2
    assert tree(tmp_path) == before
