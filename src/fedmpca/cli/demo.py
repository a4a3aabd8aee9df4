"""`fedmpca demo`: the whole way in one command, from simulated streams to a picture of what MPCA keeps of them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedmpca.cli.console import percent, progress, say, show_table
from fedmpca.cli.fit import shares_per_mode

if TYPE_CHECKING:
    from fedmpca.estimators.mpca import MPCA
    from fedmpca.fleets import Fleet

__all__ = ["demo"]

SETTINGS: tuple[dict[str, Any], ...] = (
    {"variance_kept": 0.97},
    {"variance_kept": 0.99},
    {"ranks": (3, 3, 3)},
    {"ranks": (5, 5, 5)},
)
"""The paper's share, a larger one, and ranks of its grid. The first is too small for a picture, the third is drawn."""
DRAWN = 2


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="demo", show_default=True, help="Folder."
)
@click.option("--quick", is_flag=True, help="60 assets in place of 500.")
def demo(out: Path, quick: bool) -> None:
    """Simulate 500 heated plates, fit multilinear PCA, and show how much of their variation few features keep.

    Prints a table and writes DIR/mpca.png. The plates are the same each time.

    \b
    Example:
      fedmpca demo --out demo
    """
    from fedmpca.simulate import simulate_fleet
    from fedmpca.storage import check_folder

    check_folder(out)
    fleet = simulate_fleet(60 if quick else 500, rng=0)
    shape = " x ".join(map(str, fleet.stream_shape))
    click.echo(f"{len(fleet)} simulated plates that heat up, each a stream of {shape} pixels (paper, section 6).\n")
    models = _models(fleet)
    show_table(
        ["asked for", "ranks", "features", "share kept per mode", "captured", "sweeps"],
        [_row(setting, model) for setting, model in zip(SETTINGS, models, strict=True)],
    )
    path = _draw(models[DRAWN], fleet, out)
    say(f"\n{path} shows the streams, the projections, the spectra and the convergence for ranks 3 x 3 x 3.")


def _models(fleet: Fleet) -> list[MPCA]:
    from fedmpca.estimators.mpca import MPCA

    with progress() as tell:
        return [MPCA(**setting).fit(fleet, progress=tell) for setting in SETTINGS]


def _row(setting: dict[str, Any], model: MPCA) -> list[str]:
    (name, value), *_ = setting.items()
    asked = f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
    ranks = " x ".join(map(str, model.ranks_))
    features = 1
    for rank in model.ranks_:
        features *= rank
    shares = ", ".join(map(percent, shares_per_mode(model)))
    return [asked, ranks, str(features), shares, percent(model.captured_ratio_), str(model.n_iter_)]


def _draw(model: MPCA, fleet: Fleet, out: Path) -> Path:
    from fedmpca.report import mpca_figure
    from fedmpca.storage import write_whole

    picture = io.BytesIO()
    mpca_figure(model, fleet).savefig(picture, format="png")
    out.mkdir(parents=True, exist_ok=True)  # only now: an interrupted demo leaves no empty folder
    path = out / "mpca.png"
    write_whole(path, lambda file: file.write(picture.getvalue()))
    return path
