"""The single panels of the figures: each draws into the part of a figure that it is given."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import SubFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from fedmpca.estimators.mpca import MPCA
from fedmpca.fleets import Fleet
from fedmpca.numerics.tensors import to_host
from fedmpca.report.labels import asset_name, percent, when
from fedmpca.report.style import COLOURS, GREY, MARKERS

__all__ = [
    "convergence",
    "drawn_ratio",
    "images_of_assets",
    "lines_of_assets",
    "maps_of_assets",
    "products_and_vectors",
    "some_images",
    "spectra",
    "vectors",
]

MOST_IMAGES = 10
MOST_PRODUCTS = 3
MOST_VECTORS = 4


# Streams


def stream(fleet: Fleet, asset: int) -> NDArray[Any]:
    """The stream of one asset (mode 0, ..., mode N-1)."""
    images: NDArray[Any] = np.asarray(to_host(fleet.streams[asset : asset + 1]))[0]
    return images


def images_of_assets(part: SubFigure, fleet: Fleet, assets: list[int]) -> None:
    """A row of images for each asset, all on one colour scale."""
    chosen = some_images(fleet.stream_shape[-1])
    axes = part.subplots(len(assets), len(chosen), squeeze=False)
    shown = [_middle(stream(fleet, asset))[..., chosen] for asset in assets]
    scale, label = _scale(shown)
    for row, (asset, images) in enumerate(zip(assets, shown, strict=True)):
        for column, image in enumerate(chosen):
            axis = axes[row, column]
            drawn = axis.imshow(images[..., column], norm=scale, origin="lower", aspect=_aspect(images.shape))
            _bare(axis)
            if row == 0 or isinstance(fleet.times, list):
                axis.set_title(when(fleet, asset, image, first=column == 0), fontsize=8)
        axes[row, 0].set_ylabel(asset_name(fleet, asset), rotation=0, ha="right", va="center", labelpad=6)
    part.colorbar(drawn, ax=axes, label=f"pixel {label}", pad=0.02)


def some_images(length: int) -> list[int]:
    """Up to ten images, first and last among them, evenly spaced where some number from ten to six allows it."""
    even = (n for n in range(MOST_IMAGES, 5, -1) if (length - 1) % (n - 1) == 0)
    count = length if length <= MOST_IMAGES else next(even, MOST_IMAGES)
    return [int(place) for place in np.linspace(0, length - 1, count).round()]


def _middle(images: NDArray[Any]) -> NDArray[Any]:
    """Of modes beyond two of space and one of time the middle entry, (mode 0, mode 1, time)."""
    while images.ndim > 3:
        images = images[:, :, images.shape[2] // 2]
    return images


def _scale(shown: list[NDArray[Any]]) -> tuple[Normalize, str]:
    """One scale of colours, which all images share (the bar widens it where all values are equal), and its name."""
    values = np.concatenate([image[np.isfinite(image)].ravel() for image in shown])
    ends = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    missing = any(np.isnan(image).any() for image in shown)
    return Normalize(*ends), "value (white: missing)" if missing else "value"


def drawn_ratio(shape: tuple[int, ...]) -> float:
    """Height to width of an image as it is drawn: its own, up to 3 to 1. A sliver is stretched, so that it is seen."""
    return min(3.0, max(1 / 3, shape[0] / shape[1]))


def _aspect(shape: tuple[int, ...]) -> float:
    return drawn_ratio(shape) * shape[1] / shape[0]


def _bare(axis: Axes) -> None:
    """An image speaks for itself: no ticks, a thin frame."""
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set(visible=True, linewidth=0.5, color=GREY)


def maps_of_assets(part: SubFigure, fleet: Fleet, assets: list[int]) -> None:
    """Streams with one mode beside time: one image an asset."""
    axes = part.subplots(1, len(assets), squeeze=False, sharey=True)[0]
    shown = [stream(fleet, asset) for asset in assets]
    scale, label = _scale(shown)
    for axis, asset, image in zip(axes, assets, shown, strict=True):
        ends = (0.5, image.shape[1] + 0.5, 0.5, image.shape[0] + 0.5)
        drawn = axis.imshow(image, norm=scale, origin="lower", aspect="auto", extent=ends)
        axis.set(title=asset_name(fleet, asset), xlabel="image (mode 1)")
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes[0].set_ylabel("mode 0")
    part.colorbar(drawn, ax=axes, label=label, pad=0.02)


def lines_of_assets(part: SubFigure, fleet: Fleet, assets: list[int]) -> None:
    """Streams with one mode: a line an asset."""
    axis = part.subplots()
    entries = np.arange(1, fleet.stream_shape[0] + 1)
    for place, asset in enumerate(assets):
        label = asset_name(fleet, asset).replace("\n", ", ")
        axis.plot(entries, stream(fleet, asset), label=label, **_mark(place, entries))
    axis.set(xlabel="entry of mode 0", ylabel="value")
    _count_along(axis, len(entries))
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _mark(place: int, entries: NDArray[Any]) -> dict[str, Any]:
    """Colour and marker of the line in this place; some ten markers, however many entries."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "markevery": max(1, len(entries) // 10),
    }


def _count_along(axis: Axes, length: int, ticks: int = 8) -> None:
    """The x axis counts entries from 1; ticks are whole numbers, however few."""
    axis.set_xlim(0.3, length + 0.7)
    axis.xaxis.set_major_locator(MaxNLocator(ticks, integer=True, min_n_ticks=1))


# Projections


def vectors(part: SubFigure, model: MPCA) -> None:
    """The leading vectors of each mode as lines."""
    _modes(part, model, range(len(model.factors_)))


def products_and_vectors(part: SubFigure, model: MPCA) -> None:
    """Images u_p v_q' of the leading vectors of modes 0 and 1, then the vectors of every later mode as lines."""
    pairs = leading_pairs(model)
    later = range(2, len(model.factors_))
    parts: Any = part.subfigures(1, 2, width_ratios=[1.3 * len(pairs), 1.0 + 2.2 * len(later)], wspace=0.02)
    axes = parts[0].subplots(1, len(pairs), squeeze=False)[0]
    images = [np.outer(model.factors_[0][:, p], model.factors_[1][:, q]) for p, q in pairs]
    largest = max(float(np.abs(image).max()) for image in images)
    for axis, (p, q), image in zip(axes, pairs, images, strict=True):
        drawn = axis.imshow(image, vmin=-largest, vmax=largest, origin="lower", aspect=_aspect(image.shape))
        axis.set_title(f"vectors {p + 1} x {q + 1}", fontsize=8)
        _bare(axis)
    bar = parts[0].colorbar(drawn, ax=axes, location="bottom", shrink=0.7, aspect=30, pad=0.04)
    bar.set_label("product of their entries")
    bar.locator = MaxNLocator(5)
    _modes(parts[1], model, later)


def leading_pairs(model: MPCA) -> list[tuple[int, int]]:
    """Which vectors of modes 0 and 1 to multiply: the pairs of least sum, so (1, 1) first."""
    rows, columns = model.ranks_[:2]
    pairs = [(p, q) for p in range(rows) for q in range(columns)]
    return sorted(pairs, key=lambda pair: (sum(pair), pair))[:MOST_PRODUCTS]


def _modes(part: SubFigure, model: MPCA, modes: range) -> None:
    """A panel of lines for each mode, and one legend for all."""
    axes = part.subplots(1, len(modes), squeeze=False)[0]
    for mode, axis in zip(modes, axes, strict=True):
        _lines(axis, model, mode)
        rank = model.ranks_[mode]
        more = f"\nthe first {MOST_VECTORS} of {rank}" if rank > MOST_VECTORS else ""
        axis.set_title((f"vectors of mode {mode}" if len(modes) <= 3 else f"mode {mode}") + more)
    axes[0].set_ylabel("weight")
    most = max(axes, key=lambda axis: len(axis.get_legend_handles_labels()[0]))
    part.legend(*most.get_legend_handles_labels(), loc="outside right center", handlelength=1.6)


def _lines(axis: Axes, model: MPCA, mode: int) -> None:
    factor = model.factors_[mode]
    entries = np.arange(1, len(factor) + 1)
    for place in range(min(MOST_VECTORS, factor.shape[1])):
        axis.plot(entries, factor[:, place], label=f"vector {place + 1}", **_mark(place, entries))
    last = mode == len(model.factors_) - 1 and mode > 0
    axis.set_xlabel("image" if last else "entry")
    axis.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    _count_along(axis, len(entries), ticks=5)


# Spectra and convergence


def spectra(part: SubFigure, model: MPCA) -> None:
    """Share of the variation in each direction, a panel for each mode; the kept ones are filled."""
    axes = part.subplots(1, len(model.spectra_), squeeze=False, sharey=True)[0]
    for mode, (axis, values, rank) in enumerate(zip(axes, model.spectra_, model.ranks_, strict=True)):
        shares = values / values.sum()
        positive = shares > np.finfo(float).eps  # below lies rounding
        number = np.arange(1, len(shares) + 1)
        axis.plot(number[positive], shares[positive], color=COLOURS[0], linewidth=0.8)
        for kept, face in ((number <= rank, COLOURS[0]), (number > rank, "white")):
            chosen = positive & kept
            axis.plot(number[chosen], shares[chosen], "o", markerfacecolor=face, markeredgecolor=COLOURS[0])
        axis.axvline(rank + 0.5, color=COLOURS[1], linestyle="--", linewidth=1)
        axis.set_yscale("log")
        axis.set_xlabel("direction")
        between = " " if len(axes) <= 3 else "\n"  # more panels are too narrow for one line
        axis.set_title(f"mode {mode}: {rank} of {len(shares)}{between}keep {percent(float(shares[:rank].sum()))}")
        _count_along(axis, len(shares), ticks=6)
    axes[0].set_ylabel("share of variation")


def convergence(part: SubFigure, model: MPCA) -> None:
    """Captured share by sweep, and what each sweep gained."""
    left, right = part.subplots(1, 2)
    captured = 100 * model.captured_ / model.total_scatter_
    left.plot(np.arange(len(captured)), captured, marker="o")
    left.set(
        xlabel="sweep (0: initial factors)", ylabel="captured / total, in %", title="captured share of the variation"
    )
    _captured_axis(left, captured)
    _gains(right, np.diff(model.captured_) / model.captured_[1:], model.tol)
    for axis, first in ((left, 0), (right, 1)):
        axis.set_xlim(first - 0.5, len(captured) - 0.5)
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
        axis.grid(axis="y")


def _captured_axis(axis: Axes, captured: NDArray[np.float64]) -> None:
    """As many decimals as tell the ticks apart, in full: an offset beside the axis is easily overlooked."""
    spread = float(np.ptp(captured))
    if spread < 1e-9:  # nothing was gained: with one mode the initial factors are the best ones
        axis.set_ylim(captured[0] - 0.05, captured[0] + 0.05)
    decimals = max(0, 1 - floor(log10(spread))) if spread >= 1e-9 else 2
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.{decimals}f}"))
    axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))  # steps of 2.5 would need a decimal more


def _gains(axis: Axes, gains: NDArray[np.float64], tol: float) -> None:
    """Gains on a log scale; those that rounding swallowed (zero or below) stand on its floor, hollow."""
    floor_ = np.finfo(float).eps
    sweeps = np.arange(1, len(gains) + 1)
    shown, real = np.maximum(gains, floor_), gains > floor_
    axis.plot(sweeps, shown, color=COLOURS[0], linewidth=0.8)
    axis.plot(sweeps[real], shown[real], "o", color=COLOURS[0])
    if not real.all():
        axis.plot(sweeps[~real], shown[~real], "o", mfc="white", mec=COLOURS[0], label="nothing beyond rounding")
    axis.set(xlabel="sweep", ylabel="gain / captured", title="what each sweep gained", yscale="log")
    limit = [tol] if 0 < tol < np.inf else []
    for value in limit:
        axis.axhline(value, color=COLOURS[1], linestyle="--", linewidth=1, label=f"tol = {tol:g}")
    if limit or not real.all():
        axis.legend(loc="best")
    ends = np.log10([*shown, *limit])
    axis.set_ylim(10.0 ** floor(ends.min() - 0.1), 10.0 ** ceil(ends.max() + 0.1))
    axis.yaxis.set_minor_formatter(NullFormatter())
