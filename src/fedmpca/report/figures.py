"""Figures of models: which panels there are, for streams of any number of modes. ``panels.py`` draws them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fedmpca.errors import DataError
from fedmpca.estimators.mpca import MPCA
from fedmpca.fleets import Fleet
from fedmpca.report import panels
from fedmpca.report.labels import percent
from fedmpca.report.style import styled

__all__ = ["mpca_figure"]

Row = tuple[float, str, Callable[[SubFigure], None]]
"""Height in inches, the sentence over it, and what draws it."""


def mpca_figure(model: MPCA, fleet: Fleet | NDArray[Any]) -> Figure:
    """Draw a fitted MPCA in four rows: streams, what the projections look like, the spectra, the convergence.

    Parameters
    ----------
    model : MPCA
        Fitted.
    fleet : Fleet or array (asset, mode 0, ..., mode N-1)
        Some assets of it are shown; those of shortest, middle and longest life where lives are known.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no window; ``figure.savefig("mpca.png")`` writes it.

    Examples
    --------
    >>> import fedmpca as fm
    >>> from fedmpca.report import mpca_figure
    >>> fleet = fm.simulate_fleet(40, rng=0)
    >>> figure = mpca_figure(fm.MPCA(ranks=(3, 3, 2)).fit(fleet), fleet)
    """
    check_is_fitted(model)
    fleet = fleet if isinstance(fleet, Fleet) else Fleet(fleet)
    if fleet.stream_shape != model.mean_.shape:
        raise DataError(
            f"The fleet's streams have shape {fleet.stream_shape}, and the model was fitted to {model.mean_.shape}: "
            "give the fleet that it was fitted to, or cut this one (fleet.prefix)."
        )
    if fleet.is_ragged:
        raise DataError(
            f"The fleet's streams have {fleet.lengths.min()} to {fleet.lengths.max()} images, and the model was fitted "
            f"to {model.mean_.shape[-1]}: give fleet.prefix({model.mean_.shape[-1]}), the assets that have as many."
        )
    rows = [_streams(fleet), _projections(model), _spectra(model), _convergence(model)]
    with styled():
        figure = Figure(figsize=(9.0, sum(height for height, _, _ in rows)), dpi=150, layout="constrained")
        parts: Any = figure.subfigures(len(rows), 1, height_ratios=[height for height, _, _ in rows], hspace=0.04)
        for letter, part, (_, sentence, draw) in zip("abcd", parts, rows, strict=True):
            part.suptitle(f"({letter})  {sentence}", x=0.01, ha="left", fontsize=10.5, fontweight="bold")
            draw(part)
        figure.draw_without_rendering()  # ticks are made when first drawn: now, while the style holds
        figure.set_layout_engine("none")  # all is in its place: each saving need not find it again
    return figure


def _streams(fleet: Fleet) -> Row:
    assets = some_assets(fleet)
    n_modes = len(fleet.stream_shape)
    if n_modes == 1:
        return 2.4, "What is given: one line for each asset.", lambda part: panels.lines_of_assets(part, fleet, assets)
    if n_modes == 2:
        sentence = "What is given: each asset's stream is one image, and time runs to the right."
        return 2.5, sentence, lambda part: panels.maps_of_assets(part, fleet, assets)
    sentence = f"What is given: images over time, a row for each asset{_where(fleet.stream_shape)}."
    return (
        len(assets) * _image_height(fleet.stream_shape) + 0.65,
        sentence,
        lambda part: panels.images_of_assets(part, fleet, assets),
    )


def _image_height(shape: tuple[int, ...]) -> float:
    """What an image takes in inches where those of an asset share the width, with the gap to the next row."""
    width = 7.4 / len(panels.some_images(shape[-1]))
    return min(1.2, max(0.5, width * panels.drawn_ratio(shape))) + 0.06


def _where(shape: tuple[int, ...]) -> str:
    """Of modes beyond two of space and one of time the middle entry is shown."""
    if len(shape) == 3:
        return ""
    return (
        f" (entry {shape[2] // 2 + 1} of mode 2)"
        if len(shape) == 4
        else f" (the middle of modes 2 to {len(shape) - 2})"
    )


def some_assets(fleet: Fleet, count: int = 3) -> list[int]:
    """Up to three assets, evenly spread over the order of their lives (of their rows, where these are unknown)."""
    order = np.arange(len(fleet)) if fleet.lives is None else np.argsort(fleet.lives, kind="stable")
    places = np.linspace(0, len(fleet) - 1, min(count, len(fleet))).round().astype(int)
    return [int(order[place]) for place in places]


def _projections(model: MPCA) -> Row:
    if len(model.factors_) < 3:
        return 2.4, "What is kept: the shapes that streams are made of.", lambda part: panels.vectors(part, model)
    sentence = "What is kept: patterns in space (mode 0 x mode 1) and along the other modes."
    return 2.4, sentence, lambda part: panels.products_and_vectors(part, model)


def _spectra(model: MPCA) -> Row:
    kept, of = prod(model.ranks_), prod(model.mean_.shape)
    stand = "features stand" if kept > 1 else "feature stands"
    sentence = f"How much is kept: the filled directions; {kept:,} {stand} for {of:,} pixel{'s' if of > 1 else ''}."
    return 2.5 if len(model.ranks_) <= 3 else 2.65, sentence, lambda part: panels.spectra(part, model)


def _convergence(model: MPCA) -> Row:
    share = percent(model.captured_ratio_)
    sweeps = f"{model.n_iter_} sweep{'s' if model.n_iter_ > 1 else ''}"
    end = f"converged after {sweeps}" if model.converged_ else f"stopped after {sweeps}, not converged"
    sentence = f"How it was found: {share} of the variation is captured; {end}."
    return 2.3, sentence, lambda part: panels.convergence(part, model)
