"""`fedmpca simulate`: fleets of the paper's numerical study, one folder for each member."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fedmpca.cli.console import show_table, whole_numbers

if TYPE_CHECKING:
    from fedmpca.fleets import Fleet

__all__ = ["simulate"]


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to; new, or empty.")
@click.option(
    "--members",
    metavar="N,N,...",
    callback=whole_numbers,
    required=True,
    help="Assets of each member, as in 250,100,50.",
)
@click.option("--assets", type=click.IntRange(2), default=500, show_default=True, help="Assets in all.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same fleets.")
def simulate(out: Path, members: tuple[int, ...], assets: int, seed: int) -> None:
    """Simulate heated plates with their lives (the paper's section 6), shared out among members.

    Writes the fleets DIR/user-1, DIR/user-2, ..., and DIR/test with the assets that remain.

    \b
    Example:
      fedmpca simulate --out plates --members 250,100,50 --assets 500 --seed 0
    """
    if sum(members) > assets:
        raise click.UsageError(
            f"--members {','.join(map(str, members))} are {sum(members)} assets together, more than --assets {assets}: "
            f"give at least --assets {sum(members)}, or smaller members."
        )
    from fedmpca.errors import DataError
    from fedmpca.simulate import simulate_fleet
    from fedmpca.storage import check_folder

    check_folder(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} exists and is not an empty folder: give a new folder to --out, or empty this one.")
    parts = shares(simulate_fleet(assets, rng=seed), members)
    _write(parts, out)
    rows = [
        [str(out / name), str(len(fleet)), " x ".join(map(str, fleet.stream_shape))] for name, fleet in parts.items()
    ]
    show_table(["fleet", "assets", "stream"], rows)


def shares(fleet: Fleet, members: tuple[int, ...]) -> dict[str, Fleet]:
    """Each member's assets, then those that remain. All are drawn alike, so their order is as good as chance."""
    parts, start = {}, 0
    for number, count in enumerate(members, start=1):
        parts[f"user-{number}"] = fleet[start : start + count]
        start += count
    return parts | ({"test": fleet[start:]} if start < len(fleet) else {})


def _write(parts: dict[str, Fleet], out: Path) -> None:
    """All fleets or none: they are written aside, and put in their places when all are there."""
    from fedmpca.fleets import save_fleet

    new = [folder for folder in (out, *out.parents) if not folder.exists()]
    placed: list[Path] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".partial-") as aside:
            for name, fleet in parts.items():
                save_fleet(fleet, Path(aside) / name)
            for name in parts:
                placed.append(out / name)
                (Path(aside) / name).rename(out / name)
    except BaseException:
        for folder in placed:
            shutil.rmtree(folder, ignore_errors=True)
        for folder in new:
            with suppress(OSError):  # not made yet, or another has put something there meanwhile
                folder.rmdir()
        raise
