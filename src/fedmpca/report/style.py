"""One look for every figure: colours that colour-blind readers can tell apart, and in print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler

__all__ = ["COLOURS", "GREY", "IMAGE_MAP", "MARKERS", "styled"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito (2008), the darker ones first; without their yellow, which is too light for lines on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""With each colour a marker, for those who see none."""
GREY = "#6E6E6E"
IMAGE_MAP = "cividis"
"""Even in lightness, the same for those who see red and green alike."""

STYLE: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "font.family": "DejaVu Sans",  # it comes with matplotlib: the same figure on every machine
    "font.size": 9,
    "grid.color": "#DDDDDD",
    "image.cmap": IMAGE_MAP,
    "image.interpolation": "nearest",
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


@contextmanager
def styled() -> Iterator[None]:
    """While it holds, figures are made in this style; matplotlib's own settings come back after it."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield
