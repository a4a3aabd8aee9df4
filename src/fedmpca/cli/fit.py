"""`fedmpca fit`: a model from a fleet on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedmpca.cli.console import percent, progress, show_json, show_pairs, warnings_as_lines, whole_numbers
from fedmpca.protocol.agreement import PROFILES

if TYPE_CHECKING:
    from fedmpca.federation import Federation
    from fedmpca.fleets import Fleet

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
@click.option("--profile", type=click.Choice(PROFILES), help="How several fleets are joined.  [default: secure]")
@click.option("--allow-pair", is_flag=True, help="Allow two fleets, whose owners then see each other's sums.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def fit(
    fleets: tuple[Path, ...],
    out: Path,
    model: str,
    covariates: str | None,
    memory_limit: str,
    as_json: bool,
    profile: str | None,
    allow_pair: bool,
    **parameters: Any,
) -> None:
    """Fit multilinear PCA to FLEET, a folder with fleet.csv (or the table itself), and write it to MODEL.

    Several fleets are a federation in one process: a member each, named by its folder.

    \b
    Example:
      fedmpca fit plates/user-1 -o plates.fedmpca --ranks 2,2,2
      fedmpca fit plates/user-1 plates/user-2 plates/user-3 -o joined.fedmpca --ranks 2,2,2
    """
    if len(fleets) == 1 and (profile or allow_pair):
        raise click.UsageError("--profile and --allow-pair are of federations: give several fleets.")
    from fedmpca.estimators.mpca import MPCA
    from fedmpca.fleets import load_fleet
    from fedmpca.storage import check_writable, save

    check_writable(out)
    columns = tuple(name.strip() for name in covariates.split(",")) if covariates else ()
    loaded = [load_fleet(path, covariates=columns, memory_limit=memory_limit) for path in fleets]
    given = {name: value for name, value in parameters.items() if value is not None}
    joined = loaded[0] if len(fleets) == 1 else _federation(fleets, loaded, profile or "secure", allow_pair)
    with warnings_as_lines(), progress() as tell:
        fitted = MPCA(**given).fit(joined, progress=tell)
    save(fitted, out)
    found = {"model": str(out), **summary(fitted)}
    show_json(found) if as_json else show_pairs(as_text(found))


def _federation(paths: Sequence[Path], fleets: Sequence[Fleet], profile: str, allow_pair: bool) -> Federation:
    """A member for each fleet, named by its folder."""
    from fedmpca.federation import Federation

    names = [path.resolve().name if path.is_dir() else path.resolve().parent.name for path in paths]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise click.UsageError(f"Two fleets lie in folders called {repeated[0]!r}: members are named by their folders.")
    return Federation.in_process(dict(zip(names, fleets, strict=True)), profile, allow_pair=allow_pair)


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
