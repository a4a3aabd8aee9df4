"""Numbers of PyKale's MPCA on real tensors, for tests/estimators/test_mpca_oracles.py to compare with.

PyKale needs PyTorch, so it runs here and not in the tests. In an environment of its own:

    pip install torch numpy scipy scikit-learn pandas matplotlib tensorly && pip install --no-deps pykale
    python benchmarks/pykale_reference.py > tests/estimators/pykale_reference.json
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from kale.embed.factorization import MPCA

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "estimators"))
from real_tensors import REAL_TENSORS, fingerprints

SHARES = (0.8, 0.97)
SWEEPS = (1, 5)


def reference(streams, share, sweeps):
    model = MPCA(var_ratio=share, max_iter=sweeps).fit(streams)
    return {
        "variance_kept": share,
        "sweeps": sweeps,
        "ranks": list(model.shape_out),
        "captured": float(np.sum(model.transform(streams) ** 2)),
        "fingerprints": fingerprints([factor.T for factor in model.proj_mats]),
    }


found = {
    name: [reference(load(), share, sweeps) for share in SHARES for sweeps in SWEEPS]
    for name, load in REAL_TENSORS.items()
}
print(json.dumps({"pykale": version("pykale"), "numpy": np.__version__, "tensors": found}, indent=1))
