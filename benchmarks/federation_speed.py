"""What joining costs: a federation of three members in one process beside the pooled fit, in one run.

    python benchmarks/federation_speed.py [--cases a,b,c] [--repeats 5]

The members have 5/8, 2/8 and 1/8 of the assets. Fits alternate, so that noise meets all alike; ratios
are of the best.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import fedmpca as fm

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

SWEEPS = 5


def members(streams):
    ends = [len(streams) * 5 // 8, len(streams) * 7 // 8]
    return {
        f"user-{n}": fm.Fleet(part)
        for n, part in enumerate((streams[: ends[0]], streams[ends[0] : ends[1]], streams[ends[1] :]), 1)
    }


def seconds(model, given) -> float:
    start = time.perf_counter()
    model.fit(given)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="a,b,c")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print("| case | pooled, s | " + " | ".join(f"{p}, s | times pooled" for p in ("plain", "secure", "paper")) + " |")
    for name in given.cases.split(","):
        case = CASES[name]
        streams = case.streams()
        model = fm.MPCA(ranks=case.ranks, tol=0, max_iter=SWEEPS)
        what = {"pooled": streams}
        what |= {p: fm.Federation.in_process(members(streams), profile=p) for p in ("plain", "secure", "paper")}
        found = {key: [] for key in what}
        for _ in range(given.repeats):
            for key, value in what.items():
                found[key].append(seconds(model, value))
        best = {key: min(values) for key, values in found.items()}
        cells = [f"{best[p]:.3f} | {best[p] / best['pooled']:.2f}" for p in ("plain", "secure", "paper")]
        print(f"| {name} | {best['pooled']:.3f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
