"""`fedmpca inspect`: what a model file or a fleet holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedmpca.cli.console import show_disclosures, show_json, show_pairs
from fedmpca.cli.fit import as_text, summary

if TYPE_CHECKING:
    from fedmpca.fleets import Fleet

__all__ = ["inspect"]

TABLES = {".csv", ".parquet"}


@click.command()
@click.argument("path", metavar="MODEL|FLEET", type=click.Path(path_type=Path))
@click.option("--memory-limit", default="1GB", show_default=True, help="How much of the streams to hold at a time.")
@click.option("--disclosures", is_flag=True, help="What each message of a federation's fit told, and whom.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def inspect(path: Path, memory_limit: str, disclosures: bool, as_json: bool) -> None:
    """Say what a model file, a fleet or an agreement holds, after checking it.

    \b
    Example:
      fedmpca inspect plates.fedmpca
      fedmpca inspect plates/user-1 --json
      fedmpca inspect agreement.toml
      fedmpca inspect joined.fedmpca --disclosures
    """
    if path.suffix.lower() == ".toml":
        found, text = _agreement(path)
    elif path.is_dir() or path.suffix.lower() in TABLES:
        from fedmpca.fleets import load_fleet

        found = {"fleet": str(path), **_fleet(load_fleet(path, memory_limit=memory_limit))}
        text = _fleet_text(found)
    else:
        from fedmpca.storage import load

        model = load(path)
        if disclosures:
            _show_record(model, path, as_json)
            return
        found = {"model": str(path), **summary(model), "parameters": model.get_params()}
        text = as_text(found) | {"parameters": ", ".join(f"{k}={v!r}" for k, v in model.get_params().items())}
    if disclosures:
        raise click.UsageError(f"--disclosures are of a model that a federation fitted, and {path} is none.")
    show_json(found) if as_json else show_pairs(text)


def _show_record(model: Any, path: Path, as_json: bool) -> None:
    record = getattr(model, "disclosures_", None)
    if record is None:
        raise click.UsageError(f"{path} was fitted to one fleet: nothing was told to anybody.")
    if as_json:
        show_json({"model": str(path), "disclosures": record.to_dict("records")})
    else:
        show_disclosures(record)


def _agreement(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    from dataclasses import fields

    from fedmpca.errors import DataError
    from fedmpca.protocol.agreement import Agreement

    try:
        agreement = Agreement.read(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    entries = {entry.name: getattr(agreement, entry.name) for entry in fields(agreement) if entry.name != "text"}
    found = {"agreement": str(path), "hash": agreement.hash.hex(), **entries, "members": dict(agreement.members)}
    members = {f"member {name}": key for name, key in agreement.members.items()}
    known = {name: value for name, value in found.items() if value is not None and name != "members"}
    text = {name.replace("_", " "): _entry(value) for name, value in known.items()}
    return found, text | members


def _entry(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fleet(fleet: Fleet) -> dict[str, Any]:
    known = fleet.lives is not None and fleet.events is not None
    return {
        "assets": len(fleet),
        "stream_shape": list(fleet.stream_shape),
        "shortest_stream": int(fleet.lengths.min()),
        "dtype": str(fleet.dtype),
        "failed": int(fleet.events.sum()) if known and fleet.events is not None else None,
        "running": int((~fleet.events).sum()) if known and fleet.events is not None else None,
        "lives": [float(fleet.lives.min()), float(fleet.lives.max())] if fleet.lives is not None else None,
        "ages_given": fleet.declares_clock,
    }


def _fleet_text(found: dict[str, Any]) -> dict[str, str]:
    lives = "unknown" if found["lives"] is None else "{:.4g} to {:.4g}".format(*found["lives"])
    known = {} if found["failed"] is None else {"failed": str(found["failed"]), "running": str(found["running"])}
    shortest, longest = found["shortest_stream"], found["stream_shape"][-1]
    return {
        "fleet": found["fleet"],
        "assets": str(found["assets"]),
        "stream shape": " x ".join(map(str, found["stream_shape"])),
        "images": f"{longest}" if shortest == longest else f"{shortest} to {longest}",
        "dtype": found["dtype"],
        "lives": lives,
        **known,
        "ages of images": "given" if found["ages_given"] else "not given (numbered 1, 2, 3, ...)",
    }
