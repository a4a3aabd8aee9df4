"""`fedmpca fit`: a model from a fleet on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fedmpca.cli.console import percent, progress, show_json, show_pairs, warnings_as_lines, whole_numbers

__all__ = ["fit", "summary"]


@click.command()
@click.argument("fleets", metavar="FLEET", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", metavar="MODEL", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--model", type=click.Choice(["mpca"]), default="mpca", show_default=True, help="What to fit.")
@click.option(
    "--ranks",
    metavar="N,N,...",
    callback=whole_numbers,
    help="Features of each mode, as in 2,2,2. Without it: --variance-kept.",
)
@click.option("--variance-kept", type=float, help="Share of each mode's variation to keep.  [default: 0.97]")
@click.option("--tol", type=float, help="Stop when a sweep gains no more than this share.  [default: 1e-6]")
@click.option("--max-iter", type=int, help="Largest number of sweeps.  [default: 50]")
@click.option("--covariates", metavar="A,B", help="Further columns of the table to read; MPCA does not use them.")
@click.option("--memory-limit", default="1GB", show_default=True, help="How much of the streams to hold at a time.")
@click.option("--device", help="Where to compute, as in cuda.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def fit(
    fleets: tuple[Path, ...],
    out: Path,
    model: str,
    covariates: str | None,
    memory_limit: str,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Fit multilinear PCA to FLEET, a folder with fleet.csv (or the table itself), and write it to MODEL.

    \b
    Example:
      fedmpca fit plates/user-1 -o plates.fedmpca --ranks 2,2,2
    """
    if len(fleets) > 1:
        raise click.UsageError(
            f"{len(fleets)} fleets were given, and this version fits one: federations of several come with the next. "
            f"Give one of them, as in: fedmpca fit {fleets[0]} -o {out}"
        )
    from fedmpca.estimators.mpca import MPCA
    from fedmpca.fleets import load_fleet
    from fedmpca.storage import check_writable, save

    check_writable(out)
    columns = tuple(name.strip() for name in covariates.split(",")) if covariates else ()
    fleet = load_fleet(fleets[0], covariates=columns, memory_limit=memory_limit)
    given = {name: value for name, value in parameters.items() if value is not None}
    with warnings_as_lines(), progress() as tell:
        fitted = MPCA(**given).fit(fleet, progress=tell)
    save(fitted, out)
    found = {"model": str(out), **summary(fitted)}
    show_json(found) if as_json else show_pairs(as_text(found))


def summary(model: Any) -> dict[str, Any]:
    """What is worth knowing of a fitted MPCA, as JSON has it."""
    return {
        "class": type(model).__name__,
        "assets": int(model.n_assets_),
        "stream_shape": list(model.mean_.shape),
        "ranks": list(model.ranks_),
        "captured": float(model.captured_ratio_),
        "share_per_mode": shares_per_mode(model),
        "sweeps": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


def shares_per_mode(model: Any) -> list[float]:
    """Share of each mode's initial scatter that its rank keeps."""
    return [float(v[:rank].sum() / v.sum()) for v, rank in zip(model.spectra_, model.ranks_, strict=True)]


def as_text(found: dict[str, Any]) -> dict[str, str]:
    """The same for a person."""
    text = {name.replace("_", " "): str(value) for name, value in found.items()}
    return text | {
        "stream shape": " x ".join(map(str, found["stream_shape"])),
        "ranks": " x ".join(map(str, found["ranks"])),
        "captured": f"{percent(found['captured'])} of the variation",
        "share per mode": ", ".join(map(percent, found["share_per_mode"])),
        "converged": "yes" if found["converged"] else "no",
    }
