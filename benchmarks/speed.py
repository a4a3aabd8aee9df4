"""Speed and memory of MPCA beside its peers, and beside what the machine's own matrix products allow.

    python benchmarks/speed.py [--cases a,b,c,d] [--methods fedmpca,tensorly,pykale] [--threads 2] [--repeats 3]

Everybody does the same work: centre, full-projection initialisation, 5 sweeps, ranks given (PyKale cannot take ranks:
it gets the share that leads to about these). Each (case, method) runs in a process of its own, one after the other, so
that peak memory is its own; ratios are of figures of one run. The floor is the case's flops at the rate that a square
matrix product of float64 reaches in the same process, just before. Results go to benchmarks/out/speed.json and, as a
table, to standard output. PyKale needs PyTorch: see pykale_reference.py; give its interpreter with --pykale-python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from cases import CASES, Case  # noqa: E402

SWEEPS = 5
METHODS = ("fedmpca", "tensorly", "pykale")


def fit(method: str, case: Case, streams: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """Captured scatter and factors."""
    if method == "fedmpca":
        import fedmpca as fm

        model = fm.MPCA(ranks=case.ranks, tol=0, max_iter=SWEEPS).fit(streams)
        return float(model.captured_[-1]), list(model.factors_)
    if method == "tensorly":
        from tensorly.decomposition import partial_tucker

        modes = list(range(1, streams.ndim))
        centred = streams - streams.mean(axis=0)
        (core, factors), _ = partial_tucker(
            centred, rank=list(case.ranks), modes=modes, n_iter_max=SWEEPS, init="svd", tol=0
        )
        return float(np.sum(np.square(core, dtype=float))), factors
    from kale.embed.factorization import MPCA

    model = MPCA(var_ratio=0.97, max_iter=SWEEPS).fit(streams)
    return float("nan"), [factor.T for factor in model.proj_mats]


def product_rate(size: int = 3000) -> float:
    """Flops a second of a square float64 product, the best of four."""
    a, b = np.random.default_rng(0).random((2, size, size))
    rates = []
    for _ in range(4):
        start = time.perf_counter()
        a @ b
        rates.append(2 * size**3 / (time.perf_counter() - start))
    return max(rates)


def status(field: str) -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(case: Case, method: str, repeats: int) -> dict:
    streams = case.streams()
    fit(method, Case(case.name, 30, (12, 12, 22), (10, 10, 20), 0.0), np.random.default_rng(0).random((30, 12, 12, 22)))
    rate = product_rate()
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS:")
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        captured, factors = fit(method, case, streams)
        seconds.append(time.perf_counter() - start)
    return {
        "case": case.name,
        "method": method,
        "seconds": seconds,
        "extra_bytes": status("VmHWM:") - before,
        "input_bytes": case.n_bytes,
        "captured": captured,
        "ranks": [factor.shape[1] for factor in factors],
        "product_flops": rate,
        "floor_seconds": case.flops / rate,
    }


def in_own_process(case: str, method: str, python: str, threads: int, repeats: int) -> dict:
    limits = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
    command = [python, str(HERE / "speed.py"), "--measure", case, method, str(repeats)]
    pinned = ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads])), *command]
    done = subprocess.run(pinned, capture_output=True, text=True, env={**os.environ, **limits})
    if done.returncode:
        raise SystemExit(f"{method} on case {case} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def show(found: list[dict]) -> None:
    ours = {row["case"]: min(row["seconds"]) for row in found if row["method"] == "fedmpca"}
    print("| case | method | seconds (best) | times fedmpca | times the floor | extra memory, MB | share of input |")
    print("|---|---|---|---|---|---|---|")
    for row in found:
        best = min(row["seconds"])
        ratio = f"{best / ours[row['case']]:.1f}" if row["case"] in ours else "-"
        print(
            f"| {row['case']} | {row['method']} | {best:.3f} | {ratio} | {best / row['floor_seconds']:.1f} "
            f"| {row['extra_bytes'] / 1e6:.0f} | {row['extra_bytes'] / row['input_bytes']:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="a,b,c,d")
    parser.add_argument("--methods", default="fedmpca,tensorly")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="of fedmpca; peers run once where they take long")
    parser.add_argument("--pykale-python", default=sys.executable)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        case, method, repeats = given.measure
        print(json.dumps(measure(CASES[case], method, int(repeats))))
        return
    found = []
    for case in given.cases.split(","):
        for method in given.methods.split(","):
            python = given.pykale_python if method == "pykale" else sys.executable
            repeats = given.repeats if method == "fedmpca" or case == "a" else 1
            found.append(in_own_process(case, method, python, given.threads, repeats))
            print(f"{case} {method}: {min(found[-1]['seconds']):.3f} s", file=sys.stderr, flush=True)
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    record = {"threads": given.threads, "numpy": version("numpy"), "rows": found}
    (out / "speed.json").write_text(json.dumps(record, indent=1))
    show(found)


if __name__ == "__main__":
    main()
