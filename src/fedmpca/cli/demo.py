"""`fedmpca demo`: three companies learn together, in one process, what pooling their streams would have taught them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedmpca.cli.console import percent, progress, say, show_disclosures

if TYPE_CHECKING:
    from fedmpca.estimators.mpca import MPCA
    from fedmpca.fleets import Fleet

__all__ = ["demo"]

MEMBERS = {"user-1": 250, "user-2": 100, "user-3": 50}
"""The paper's section 6. The other 100 of its 500 plates are for predicting, later."""
RANKS = (3, 3, 3)


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True, help="Folder."
)
@click.option("--quick", is_flag=True, help="A tenth of the assets.")
def demo(out: Path, quick: bool) -> None:
    """Simulate 500 heated plates of three companies, fit multilinear PCA to all without pooling them, and compare.

    Prints each round, what every message told whom, and how far the result is from the pooled one; writes
    DIR/mpca.png. The plates are the same each time.

    \b
    Example:
      fedmpca demo --out demo
    """
    from fedmpca.estimators.mpca import MPCA
    from fedmpca.federation import Federation
    from fedmpca.simulate import simulate_fleet
    from fedmpca.storage import check_folder

    check_folder(out)
    counts = {name: count // (10 if quick else 1) for name, count in MEMBERS.items()}
    fleet = simulate_fleet(sum(counts.values()) * 5 // 4, rng=0)[: sum(counts.values())]
    fleets = _shares(fleet, counts)
    shape = " x ".join(map(str, fleet.stream_shape))
    members = ", ".join(f"{name} ({count} plates)" for name, count in counts.items())
    say(f"Simulated plates that heat up, each a stream of {shape} pixels (paper, section 6), with three members:")
    say(f"{members}. They fit MPCA under the profile secure.\n")
    federation = Federation.in_process(fleets)
    with progress() as tell:
        joined = MPCA(ranks=RANKS).fit(federation, progress=tell, watch=_Rounds())
    features = " x ".join(map(str, RANKS))
    say(f"\n{features} features stand for {shape} pixels, and keep {percent(joined.captured_ratio_)} of the variation.")
    _compare(joined, MPCA(ranks=RANKS).fit(fleet))
    say("\nWhat each message told, and whom (model.disclosures_ has every message):\n")
    show_disclosures(federation.disclosures)
    path = _draw(joined, fleet, out)
    say(f"\n{path} shows streams, projections, spectra and convergence.")


def _shares(fleet: Fleet, counts: dict[str, int]) -> dict[str, Fleet]:
    found, start = {}, 0
    for name, count in counts.items():
        found[name] = fleet[start : start + count]
        start += count
    return found


class _Rounds:
    """Prints each round as it is over; after a sweep, the captured share of the variation."""

    def __init__(self) -> None:
        self.round = 0
        self.total = 0.0

    def __call__(self, query: Any, told: Any) -> None:
        self.round += 1
        line = f"round {self.round:2}  {query.title}"
        if isinstance(told, tuple):
            self.total = float(told[0].values.sum())
        if hasattr(query, "mode") and query.mode == query.mean.ndim - 1:
            captured = told.kept(query.factors[query.mode].shape[1])
            line = f"{line:30}  captured {100 * captured / self.total:.6f} %"
        say(line)


def _compare(joined: MPCA, pooled: MPCA) -> None:
    from fedmpca.numerics.subspaces import principal_angles

    pairs = zip(joined.factors_, pooled.factors_, strict=True)
    angle = max(float(principal_angles(ours, theirs).max()) for ours, theirs in pairs)
    change = abs(joined.captured_[-1] / pooled.captured_[-1] - 1)
    say(f"Pooling all streams would give the same: largest principal angle {angle:.1e}, captured scatter {change:.1e}.")


def _draw(model: MPCA, fleet: Fleet, out: Path) -> Path:
    from fedmpca.report import mpca_figure
    from fedmpca.storage import write_whole

    picture = io.BytesIO()
    mpca_figure(model, fleet).savefig(picture, format="png")
    out.mkdir(parents=True, exist_ok=True)  # only now: an interrupted demo leaves no empty folder
    path = out / "mpca.png"
    write_whole(path, lambda file: file.write(picture.getvalue()))
    return path
