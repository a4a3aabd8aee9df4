"""How much memory a fit takes on top of its input, in a process of its own; and fleets larger than their limit."""

import json
import subprocess
import sys

import numpy as np
import pytest

import fedmpca as fm
from fedmpca.numerics.subspaces import principal_angles

MB = 10**6

MEASURE = """
import json, sys
import numpy as np
import fedmpca as fm

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

shape, ranks, dtype, path, limit = json.loads(sys.argv[1])
fm.MPCA(ranks=(2, 2), tol=0, max_iter=2).fit(np.random.default_rng(0).normal(size=(9, 5, 4)))  # libraries are there
if path is None:
    data = np.empty(shape, dtype)
    rng = np.random.default_rng(1)
    for asset in data:
        asset[...] = rng.standard_normal(shape[1:], "float32")
else:
    data = fm.load_fleet(path, memory_limit=limit)
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")
before = resident("VmRSS:")
model = fm.MPCA(ranks=ranks, tol=0, max_iter=2).fit(data)
print(json.dumps({"extra": resident("VmHWM:") - before, "factors": [factor.tolist() for factor in model.factors_]}))
"""

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


def measured(shape, ranks, dtype="float64", path=None, limit=None):
    given = json.dumps([shape, ranks, dtype, path, limit])
    done = subprocess.run([sys.executable, "-c", MEASURE, given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_linux
@pytest.mark.parametrize(
    ("shape", "ranks", "dtype"),
    [
        ((800, 30, 20, 50), (6, 5, 6), "float64"),
        ((60, 128, 128, 50), (10, 10, 8), "float32"),
        pytest.param((284, 40, 20, 150), (6, 5, 6), "float64", marks=pytest.mark.slow),
        pytest.param((24, 256, 256, 100), (10, 10, 20), "float32", marks=pytest.mark.slow),
        pytest.param((20, 512, 512, 60), (8, 8, 8), "float32", marks=pytest.mark.slow),
        pytest.param((20000, 400), (20,), "float64", marks=pytest.mark.slow),
    ],
)
def test_a_fit_takes_a_quarter_of_the_input_and_32_mb(shape, ranks, dtype):
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    assert measured(shape, ranks, dtype)["extra"] <= n_bytes // 4 + 32 * MB


@needs_linux
@pytest.mark.parametrize("assets", [640, pytest.param(6400, marks=pytest.mark.slow)])
def test_a_fleet_of_ten_times_the_limit_gives_the_same_factors(assets, tmp_path):
    """Read from files block by block, within the limit; the factors are those of the same streams in memory."""
    shape = (assets, 25, 20, 25)
    streams = np.random.default_rng(1).normal(size=shape) * 0.7 ** np.arange(25)
    fm.save_fleet(fm.Fleet(streams), tmp_path / "fleet")
    limit = streams.nbytes // 10
    model = fm.MPCA(ranks=(3, 3, 3), tol=0, max_iter=2).fit(streams)
    found = measured(shape, (3, 3, 3), path=str(tmp_path / "fleet"), limit=limit)
    assert found["extra"] <= max(limit, 32 * MB)
    for ours, theirs in zip(model.factors_, found["factors"], strict=True):
        assert principal_angles(ours, np.array(theirs)).max() < 1e-10
