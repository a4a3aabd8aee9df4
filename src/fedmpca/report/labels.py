"""What figures say in words: shares, numbers, assets and ages, short enough for the places where they stand."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmpca.fleets import Fleet

__all__ = ["asset_name", "number", "percent", "when"]

LONGEST_ID = 16


def percent(share: float) -> str:
    """A share as a reader wants it: never 100 % where something is missing, beyond rounding."""
    text = f"{100 * share:.2f}"
    return f"{'99.99' if text == '100.00' and share < 1 - 1e-12 else text} %"


def number(value: float) -> str:
    """A number in few characters: 0.00123, 12.3, 1,234, 1.23e+08."""
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def asset_name(fleet: Fleet, asset: int) -> str:
    """An asset's id, with its life where that is known."""
    text = _short(str(fleet.ids[asset]))
    if fleet.lives is None or fleet.events is None:
        return text
    life = number(float(fleet.lives[asset]))
    if not fleet.events[asset]:
        return f"{text}\nrunning at {life}"
    upper = float("nan") if fleet.upper is None else float(fleet.upper[asset])
    return f"{text}\nlife {life}" if isnan(upper) else f"{text}\nlife {life} to {number(upper)}"


def _short(text: str) -> str:
    """An id with its beginning and its end, where it is long: what tells assets apart mostly stands at the end."""
    bare = text.isdigit() or text.startswith("_")  # matplotlib leaves a label with _ in front out of its legend
    if len(text) > LONGEST_ID:
        text = f"{text[:6]}…{text[7 - LONGEST_ID :]}"
    return f"{'asset ' if bare else ''}{text}".replace("$", r"\$")  # else two dollars make a formula


def when(fleet: Fleet, asset: int, image: int, *, first: bool) -> str:
    """Over an image: its number, or its age where the fleet declares a clock; the word only over the first of a row."""
    if not fleet.declares_clock:
        return f"image {image + 1}"
    return f"{'age ' if first else ''}{number(float(_ages(fleet, asset)[image]))}"


def _ages(fleet: Fleet, asset: int) -> NDArray[Any]:
    times: list[NDArray[np.float64]] | NDArray[np.float64] = fleet.times
    return times[asset] if isinstance(times, list) else times
