"""Figures of models of every kind, each drawn once, and ways to read them."""

from functools import cache
from itertools import combinations

import numpy as np
from matplotlib.text import Text

import fedmpca as fm
from fedmpca.report import mpca_figure


def streams(assets, shape, seed=0):
    """A few smooth patterns, ever weaker, and some noise: spectra as real streams have them."""
    rng = np.random.default_rng(seed)
    total = 0.02 * rng.normal(size=(assets, *shape))
    for k in range(1, 7):
        pattern = rng.normal(size=assets) / k
        for length in shape:
            pattern = np.multiply.outer(pattern, np.sin(k * np.linspace(0.2, 2.8, length) + rng.uniform()))
        total += pattern
    return total + 3


def model_and_fleet(shape, assets=6, known=None, **parameters):
    x = streams(assets, shape)
    return fm.MPCA(**{"ranks": (2,) * len(shape), **parameters}).fit(x), fm.Fleet(x, **(known or {}))


LONG = [f"compressor-station-north-unit-{k:04d}" for k in range(9)]
RUNNING = {"ids": LONG, "lives": np.arange(1, 10) * 1.2e6, "events": np.zeros(9)}
OWN_CLOCKS = [[k, k + 1000.5, k + 2e4, k + 2e7] for k in range(3)]
KINDS = {
    "one mode": lambda: model_and_fleet((30,), known={"lives": [60, 10, 20, 50, 1234.5, 30]}),
    "two modes, long ids": lambda: model_and_fleet((8, 15), 9, RUNNING, ranks=(3, 1)),
    "four modes": lambda: model_and_fleet((6, 7, 3, 4), ranks=(2, 3, 2, 1)),
    "two assets, modes of one entry": lambda: model_and_fleet((1, 1, 4), 2, ranks=(1, 1, 2)),
    "long ids, far ages, many ranks": lambda: model_and_fleet(
        (30, 40, 20), 9, {**RUNNING, "times": np.linspace(0.001, 1234567.8, 20)}, variance_kept=0.999, ranks=None
    ),
    "slivers, own clocks": lambda: model_and_fleet((3, 90, 4), 3, {"times": OWN_CLOCKS}, ranks=(3, 2, 2)),
}


@cache
def drawn(kind):
    """The model, the fleet, and their figure."""
    model, fleet = KINDS[kind]()
    return model, fleet, mpca_figure(model, fleet)


def panels(figure, title):
    """The panels whose title begins so, in order."""
    return [axis for axis in figure.axes if axis.get_title().startswith(title)]


def images(figure):
    """Every image, with the panel it is in."""
    return [(axis, image.get_array()) for axis in figure.axes for image in axis.get_images()]


def sentences(figure):
    return [part.get_suptitle() for part in figure.subfigs]


def words(figure):
    """All texts that can be seen, but for the numbers at ticks."""
    ticks = {id(label) for axis in figure.axes for way in (axis.xaxis, axis.yaxis) for label in way.get_ticklabels()}
    minor = {
        id(label)
        for axis in figure.axes
        for way in (axis.xaxis, axis.yaxis)
        for label in way.get_ticklabels(minor=True)
    }
    texts = figure.findobj(
        lambda artist: isinstance(artist, Text) and artist.get_visible() and artist.get_text().strip()
    )
    return [text for text in texts if id(text) not in ticks | minor]


def overlapping(figure):
    """Pairs of texts that lie on each other, and texts that leave the figure."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in words(figure)]
    inside = figure.bbox
    outside = [
        text
        for text, box in boxes
        if box.x0 < inside.x0 or box.y0 < inside.y0 or box.x1 > inside.x1 or box.y1 > inside.y1
    ]
    pairs = [(a, b) for (a, box), (b, other) in combinations(boxes, 2) if box.padded(-1).overlaps(other.padded(-1))]
    return pairs + outside
