"""How commands speak: tables and JSON on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "percent",
    "progress",
    "say",
    "show_disclosures",
    "show_json",
    "show_pairs",
    "show_table",
    "warnings_as_lines",
    "whole_numbers",
]

WIDTH = 100

Progress = Callable[[str, int, int], None]


def whole_numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Callback of an option whose value is whole numbers of at least 1, with commas between them."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 and int(part) >= 1 for part in parts):
        raise click.BadParameter(
            f"{value!r} should be whole numbers of at least 1 with commas between them, as in 5,3,2."
        )
    return tuple(int(part) for part in parts)


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their contents, so that nothing is wrapped or cut, in a file either."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def show_pairs(pairs: dict[str, str]) -> None:
    """A line for each thing that is known."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        say(f"{name.ljust(width)}  {value}")


def say(text: str) -> None:
    """A line on standard output; bytes of a path that are no text come as a question mark."""
    click.echo(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def show_json(value: dict[str, Any]) -> None:
    """One JSON object, for a program."""
    click.echo(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """The value as JSON has it: NumPy's numbers as numbers, what JSON has not as text."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    return value if isinstance(value, str | int | float | None) else repr(value)


def show_disclosures(rows: pd.DataFrame) -> None:
    """A paragraph for each kind of message, the members together."""
    from fedmpca.protocol.disclosures import COORDINATOR

    members = {name: "each member" for name in {*rows.sender, *rows.seen_by} if name != COORDINATOR}
    table = rows.replace({"sender": members, "seen_by": members})
    for key, group in table.groupby(["sender", "seen_by", "what"], sort=False):
        sender, seen_by, what = (str(part) for part in key)
        first, last = group["round"].min(), group["round"].max()
        rounds = f"round {first}" if first == last else f"rounds {first} to {last}"
        say(f"{rounds}, {sender} to {seen_by}: {len(group)} messages, {group.n_bytes.sum():,} bytes")
        say(textwrap.fill(what, WIDTH, initial_indent="    ", subsequent_indent="    "))


def percent(share: float) -> str:
    """A share with two decimals; never 100 % where something is missing, beyond rounding."""
    text = f"{100 * share:.2f}"
    return f"{'99.99' if text == '100.00' and share < 1 - 1e-12 else text} %"


@contextmanager
def progress() -> Iterator[Progress]:
    """A function to call with what is being done, parts done, and parts in all; a bar where a person is looking on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what, done, of: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("blocks"))
    with Bars(*columns, TimeElapsedColumn(), console=console, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, of: bars.update(task, description=what, completed=done, total=of)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """While it holds, our own warnings are one line each on standard error, without a place in the source."""
    from fedmpca.errors import NotConvergedWarning

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        click.echo(f"Warning: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", NotConvergedWarning)
        warnings.showwarning = show
        yield
