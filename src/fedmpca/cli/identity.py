"""`fedmpca identity new`: the key by which the others know a party."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from fedmpca.cli.console import say

__all__ = ["identity"]


@click.group()
def identity() -> None:
    """Make the key by which the others of a federation know you."""


@identity.command()
@click.option("--name", default="", help="Written beside the public key, for people.")
@click.option(
    "-o", "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder."
)
def new(name: str, out: Path) -> None:
    """Write DIR/identity.key, which stays with you, and DIR/identity.pub, which all others get.

    Hand the public key over in person or by telephone: whoever can swap it on the way can be you.

    \b
    Example:
      fedmpca identity new --name north -o north
    """
    from fedmpca.crypto.keys import Identity
    from fedmpca.storage.identity import write_identity

    made = Identity.new(secrets.token_bytes)
    write_identity(made, out, name)
    say(f"{out / 'identity.pub'}  {made.public.hex()}")
