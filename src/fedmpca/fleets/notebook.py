"""What a notebook shows of a fleet: what there is, and first and last image of a few assets. Only those are read."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fedmpca.fleets.fleet import Fleet

__all__ = ["fleet_html"]

SHOWN = 4
MOST_PIXELS = 256  # along a side; larger images are thinned, so that the page stays small
COLOURS = "cividis"  # reads the same to colour-blind eyes


def fleet_html(fleet: Fleet) -> str:
    """Describe a fleet as a piece of HTML."""
    lines = [f"<b>Fleet</b> of {len(fleet)} assets, streams {' × '.join(map(str, fleet.stream_shape))}, {_size(fleet)}"]
    lines.append(escape(_lives(fleet)))
    pictures = "".join(_asset(fleet, place) for place in range(min(SHOWN, len(fleet)))) if fleet.ndim > 2 else ""
    return f"<div><p>{'<br>'.join(lines)}</p><div style='display:flex;flex-wrap:wrap;gap:1em'>{pictures}</div></div>"


def _size(fleet: Fleet) -> str:
    pixels = int(np.prod(fleet.stream_shape[:-1], dtype=np.int64)) * int(fleet.lengths.sum())
    n_bytes: float = pixels * fleet.dtype.itemsize
    units = iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while n_bytes >= 1000 and unit != "TB":
        n_bytes, unit = n_bytes / 1000, next(units)
    lengths = f"{fleet.lengths.min()} to {fleet.lengths.max()} images, " if fleet.is_ragged else ""
    return f"{lengths}{fleet.dtype}, {n_bytes:.3g} {unit}"


def _lives(fleet: Fleet) -> str:
    if fleet.lives is None or fleet.events is None:
        return "lives unknown"
    low, middle, high = np.min(fleet.lives), np.median(fleet.lives), np.max(fleet.lives)
    failed = int(fleet.events.sum())
    return f"lives {low:.4g} to {high:.4g}, median {middle:.4g}; {failed} failed, {len(fleet) - failed} still running"


def _asset(fleet: Fleet, place: int) -> str:
    stream = np.asarray(fleet[place : place + 1].streams, dtype=np.float64)[0]
    images = [stream] if stream.ndim == 2 else [_flat(stream[..., 0]), _flat(stream[..., -1])]
    thinned = [np.where(np.isfinite(image), image, np.nan)[_thin(image)] for image in images]
    values = np.concatenate([image.ravel() for image in thinned])
    seen = values[~np.isnan(values)]
    scale = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    pictures = "".join(_picture(image, scale) for image in thinned)
    what = "stream" if stream.ndim == 2 else "first and last image"
    return (
        f"<figure style='margin:0'>{pictures}<figcaption>{escape(_caption(fleet, place))}, {what}</figcaption></figure>"
    )


def _flat(image: NDArray[Any]) -> NDArray[Any]:
    """Show the middle of modes beyond two."""
    return image[(slice(None), slice(None), *(size // 2 for size in image.shape[2:]))]


def _thin(image: NDArray[Any]) -> tuple[slice, ...]:
    return tuple(slice(None, None, -(-size // MOST_PIXELS)) for size in image.shape)


def _caption(fleet: Fleet, place: int) -> str:
    name = f"asset {fleet.ids[place]}"
    if fleet.lives is None or fleet.events is None:
        return name
    return f"{name}, {'failed at' if fleet.events[place] else 'running at'} {fleet.lives[place]:.4g}"


def _picture(image: NDArray[Any], scale: tuple[float, float]) -> str:
    from matplotlib.image import imsave  # takes longer to import than everything else here

    file = io.BytesIO()
    imsave(file, np.ma.masked_invalid(image), vmin=scale[0], vmax=scale[1], cmap=COLOURS, format="png")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f"<img style='height:120px;margin-right:4px;image-rendering:pixelated' src='data:image/png;base64,{data}'>"
