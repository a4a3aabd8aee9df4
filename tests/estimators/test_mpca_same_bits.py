"""The same input gives the same bits: run after run, on one core or on several, from memory or from disk."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import fedmpca as fm

BITS = """
import hashlib, os, sys
import numpy as np
if sys.argv[1] != "all":
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:int(sys.argv[1])]))
import fedmpca as fm
streams = np.random.default_rng(0).normal(size=(700, 30, 20, 15)).astype(sys.argv[2])
model = fm.MPCA(ranks=(4, 3, 5), tol=0, max_iter=4).fit(streams)
digest = hashlib.sha256()
for array in (model.mean_, *model.factors_, *model.spectra_, model.captured_, model.transform(streams)):
    digest.update(np.ascontiguousarray(array).tobytes())
print(digest.hexdigest())
"""


def bits(cores, dtype, **environment):
    done = subprocess.run(
        [sys.executable, "-c", BITS, str(cores), dtype],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen on this system")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_bits_on_one_core_and_on_all(dtype):
    found = {bits(1, dtype), bits("all", dtype), bits("all", dtype, OPENBLAS_NUM_THREADS="3", OMP_NUM_THREADS="2")}
    assert len(found) == 1


def test_the_same_bits_run_after_run_and_from_disk(tmp_path):
    streams = np.random.default_rng(0).normal(size=(300, 30, 20, 15))
    fm.save_fleet(fm.Fleet(streams), tmp_path / "fleet")
    fleets = [
        streams,
        streams,
        fm.load_fleet(tmp_path / "fleet"),
        fm.load_fleet(tmp_path / "fleet", memory_limit="2MB"),
    ]
    found = set()
    for fleet in fleets:
        model = fm.MPCA(ranks=(4, 3, 5), tol=0, max_iter=3).fit(fleet)
        parts = [model.mean_, *model.factors_, model.captured_, model.transform(fleet)]
        found.add(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
    assert len(found) == 1


def test_the_order_in_memory_is_no_part_of_the_result():
    """Fortran order and strided views: other memory, the same numbers."""
    streams = np.random.default_rng(0).normal(size=(50, 6, 5, 4))
    models = [
        fm.MPCA(ranks=(2, 2, 2), tol=1e-14).fit(x)
        for x in (streams, np.asfortranarray(streams), np.repeat(streams, 2, axis=3)[..., ::2])
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.captured_, models[0].captured_, rtol=1e-13)
        for a, b in zip(model.factors_, models[0].factors_, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
