"""`fedmpca agree`: the document that all parties hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fedmpca.cli.console import say, whole_numbers
from fedmpca.protocol.agreement import PROFILES

__all__ = ["agree"]


def named_keys(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Callback of an option NAME=PUB that may be given many times."""
    found: dict[str, str] = {}
    for item in value:
        name, separator, key = item.partition("=")
        if not (name and separator and key):
            raise click.BadParameter(f"{item!r} should be NAME=PUB, as in north=north/identity.pub.")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice: each member has a name of its own.")
        found[name] = key
    return found


@click.command()
@click.option(
    "--member",
    "members",
    metavar="NAME=PUB",
    multiple=True,
    required=True,
    callback=named_keys,
    help="A member's name and its public key: the digits, or the file. Once for each.",
)
@click.option(
    "--coordinator", metavar="PUB", required=True, help="The coordinator's public key: the digits, or the file."
)
@click.option("--shape", metavar="N,N,...", callback=whole_numbers, help="Shape of every stream, as in 21,21,10.")
@click.option(
    "--like",
    metavar="FLEET",
    type=click.Path(path_type=Path),
    help="Shape, dtype and image times of this fleet, in place of --shape.",
)
@click.option("--profile", type=click.Choice(PROFILES), help="How answers are joined.  [default: secure]")
@click.option(
    "--ranks", metavar="N,N,...", callback=whole_numbers, help="Features of each mode. Without it: --variance-kept."
)
@click.option("--variance-kept", type=float, help="Share of each mode's variation to keep.  [default: 0.97]")
@click.option("--tol", type=float, help="Stop when a sweep gains no more than this share.  [default: 1e-6]")
@click.option("--max-sweeps", type=int, help="Largest number of sweeps.  [default: 50]")
@click.option(
    "--family",
    "families",
    metavar="NAME",
    multiple=True,
    help="A family of failure times that may be regressed; again for each.  [default: lognormal]",
)
@click.option("--alpha", type=float, help="Ridge of that regression.  [default: 0]")
@click.option("--folds", type=int, help="Folds of a cross-validation. Without it there is none.")
@click.option(
    "--lengths",
    metavar="N,N,...",
    callback=whole_numbers,
    help="Images after which lives are predicted. Without it: after all.",
)
@click.option("--value-unit", help="Unit of the pixels, as in degC.")
@click.option("--time-unit", help="Unit of ages and lives, as in h.")
@click.option("--largest-value", type=float, help="No pixel of anyone is larger in size.  [default: 1e6]")
@click.option("--most-assets", type=int, help="No member has more assets.  [default: 10000]")
@click.option("--longest-life", type=float, help="No life is longer.  [default: 1e6]")
@click.option("--smallest-fleet", type=int, help="No member takes part with fewer assets.  [default: 2]")
@click.option("--most-rounds", type=int, help="Largest number of rounds.  [default: 1000]")
@click.option("--wait", "wait_s", type=float, help="Seconds that a silent member is awaited.  [default: 300]")
@click.option("--allow-pair", is_flag=True, help="Allow two members, who then see each other's sums.")
@click.option("--allow-parts", is_flag=True, help="Allow sums over parts of the assets, before the guard is there.")
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="File to write.")
def agree(
    members: dict[str, str],
    coordinator: str,
    shape: tuple[int, ...] | None,
    like: Path | None,
    out: Path,
    allow_pair: bool,
    allow_parts: bool,
    **entries: Any,
) -> None:
    """Write the agreement of a federation: one file that every party holds, byte for byte, and signs.

    What has a default need not be given. Compare the printed hash with the others by telephone.

    \b
    Example:
      fedmpca identity new -o coordinator
      fedmpca identity new -o north
      fedmpca identity new -o south
      fedmpca identity new -o west
      fedmpca agree --member north=north --member south=south --member west=west \\
        --coordinator coordinator --shape 21,21,10 --ranks 3,3,3 -o agreement.toml
    """
    from fedmpca.protocol.agreement import Agreement, write_agreement
    from fedmpca.storage import check_writable, write_whole
    from fedmpca.storage.identity import read_public_key

    if (shape is None) == (like is None):
        raise click.UsageError("Give either --shape, as in 21,21,10, or --like with a fleet.")
    check_writable(out)
    text = write_agreement(
        coordinator=read_public_key(coordinator),
        **({"shape": shape} if like is None else _like(like)),
        **{name: value for name, value in entries.items() if value not in (None, ())},
        **{name: True for name, given in (("allow_pair", allow_pair), ("allow_parts", allow_parts)) if given},
        members={name: read_public_key(key) for name, key in members.items()},
    )
    write_whole(out, lambda file: file.write(text))
    say(f"{out}  {Agreement.read(text).hash.hex()}")


def _like(path: Path) -> dict[str, Any]:
    """What a fleet's streams are like."""
    from fedmpca.errors import DataError
    from fedmpca.fleets import load_fleet

    fleet = load_fleet(path)
    if fleet.is_ragged:
        raise DataError(f"{path} has streams of different lengths: give --shape.")
    found: dict[str, Any] = {"shape": fleet.stream_shape, "dtype": str(fleet.dtype)}
    if fleet.declares_clock and not isinstance(fleet.times, list):
        found["times"] = tuple(fleet.times.tolist())
    return found
