"""What the figure shows are the model's numbers and the fleet's images, read back from what was drawn."""

import numpy as np
import pytest
from drawn_figures import KINDS, drawn, images, model_and_fleet, panels, sentences, streams, words
from matplotlib.colors import to_hex

import fedmpca as fm
from fedmpca.report import mpca_figure

every_kind = pytest.mark.parametrize("kind", KINDS)


def points(axis, *, filled):
    """The points drawn with a filled (or hollow) marker."""
    chosen = [
        line for line in axis.get_lines()
        if line.get_marker() == "o" and line.get_linestyle() == "None"
        and (to_hex(line.get_markerfacecolor()) != "#ffffff") == filled
    ]  # fmt: skip
    return np.concatenate([np.empty((0, 2)), *(line.get_xydata() for line in chosen)])


@every_kind
def test_spectra_are_shares_and_the_kept_ones_are_filled(kind):
    model, _, figure = drawn(kind)
    found = panels(figure, "mode ")
    assert len(found) == len(model.spectra_)
    for mode, (axis, values, rank) in enumerate(zip(found, model.spectra_, model.ranks_, strict=True)):
        shares = values / values.sum()
        seen = np.flatnonzero(shares > np.finfo(float).eps)
        for filled, chosen in ((True, seen[seen < rank]), (False, seen[seen >= rank])):
            np.testing.assert_array_equal(points(axis, filled=filled), np.column_stack([chosen + 1, shares[chosen]]))
        title = " ".join(axis.get_title().split())
        kept = 100 * shares[:rank].sum()
        assert title == f"mode {mode}: {rank} of {len(values)} keep {kept:.2f} %"
        assert [line.get_xdata()[0] for line in axis.get_lines() if line.get_linestyle() == "--"] == [rank + 0.5]
        assert axis.get_yscale() == "log"


@every_kind
def test_captured_shares_and_gains(kind):
    model, _, figure = drawn(kind)
    (left,), (right,) = panels(figure, "captured share"), panels(figure, "what each sweep gained")
    shares = 100 * model.captured_ / model.total_scatter_
    np.testing.assert_array_equal(left.get_lines()[0].get_xydata(), np.column_stack([range(len(shares)), shares]))
    ticks, labels = left.get_yticks(), [float(label.get_text()) for label in left.get_yticklabels()]
    np.testing.assert_allclose(labels, ticks, rtol=0, atol=1e-6 * np.ptp(ticks))  # as many decimals as ticks have
    gains = np.diff(model.captured_) / model.captured_[1:]
    drawn_gains = np.concatenate([points(right, filled=True), points(right, filled=False)])
    assert sorted(drawn_gains[:, 0]) == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal(drawn_gains[np.argsort(drawn_gains[:, 0]), 1], np.maximum(gains, np.finfo(float).eps))
    assert len(points(right, filled=False)) == np.sum(gains <= np.finfo(float).eps)
    limits = [line.get_ydata()[0] for line in right.get_lines() if line.get_linestyle() == "--"]
    assert limits == ([model.tol] if 0 < model.tol < np.inf else [])


@every_kind
def test_patterns_are_products_of_the_leading_vectors(kind):
    model, _, figure = drawn(kind)
    found = panels(figure, "vectors ")
    products = [axis for axis in found if axis.get_images()]
    assert len(products) == (0 if len(model.ranks_) < 3 else min(3, model.ranks_[0] * model.ranks_[1]))
    for axis in products:
        p, q = (int(number) - 1 for number in axis.get_title().removeprefix("vectors ").split(" x "))
        expected = np.outer(model.factors_[0][:, p], model.factors_[1][:, q])
        np.testing.assert_array_equal(axis.get_images()[0].get_array(), expected)
    lines = [axis for axis in found if not axis.get_images()]
    modes = range(len(model.ranks_)) if len(model.ranks_) < 3 else range(2, len(model.ranks_))
    assert len(lines) == len(modes)
    for mode, axis in zip(modes, lines, strict=True):
        vectors = [line.get_ydata() for line in axis.get_lines() if line.get_label().startswith("vector")]
        np.testing.assert_array_equal(np.transpose(vectors), model.factors_[mode][:, :4])
        last = mode == len(model.ranks_) - 1 and mode > 0
        assert axis.get_xlabel() == ("image" if last else "entry")


def shown_streams(kind):
    """The images of panel (a): those that are no products of vectors."""
    _, fleet, figure = drawn(kind)
    return fleet, [(axis, image) for axis, image in images(figure) if not axis.get_title().startswith("vectors")]


@pytest.mark.parametrize("kind", ["four modes", "long ids, far ages, many ranks", "slivers, own clocks"])
def test_streams_are_the_fleet_s_images(kind):
    fleet, shown = shown_streams(kind)
    count = fleet.stream_shape[-1]
    times = range(count) if count <= 10 else np.linspace(0, count - 1, 10).round().astype(int)
    assets = np.linspace(0, len(fleet) - 1, 3).round().astype(int)
    assert len(shown) == 3 * len(times)
    middle = (fleet.stream_shape[2] // 2,) if fleet.ndim == 5 else ()
    for (_, image), (asset, time) in zip(shown, [(asset, time) for asset in assets for time in times], strict=True):
        np.testing.assert_array_equal(image, fleet.streams[(asset, slice(None), slice(None), *middle, time)])


def test_maps_and_lines_are_the_fleet_s_streams():
    fleet, shown = shown_streams("two modes, long ids")
    assert len(shown) == 3
    for (_, image), asset in zip(shown, (0, 4, 8), strict=True):
        np.testing.assert_array_equal(image, fleet.streams[asset])
    _, fleet, figure = drawn("one mode")
    lines = figure.axes[0].get_lines()
    for line, asset in zip(lines, (1, 5, 4), strict=True):  # of shortest, middle and longest life
        np.testing.assert_array_equal(line.get_ydata(), fleet.streams[asset])


def scales(figure):
    found = {
        axis.get_images()[0].norm for axis in figure.axes if axis.get_images() and "vectors" not in axis.get_title()
    }
    return [(norm.vmin, norm.vmax) for norm in found]


def test_one_scale_of_colours_for_all_images():
    _, shown = shown_streams("four modes")
    values = np.array([image for _, image in shown])
    assert scales(drawn("four modes")[2]) == [(values.min(), values.max())]
    assert "pixel value" in {text.get_text() for text in words(drawn("four modes")[2])}


def test_one_value_has_a_colour_in_the_middle_and_missing_pixels_are_white():
    model, fleet = model_and_fleet((4, 3, 2), 2)
    given = np.full(fleet.shape, 7.0)
    given[0, :, 0, 1] = np.nan
    figure = mpca_figure(model, given)
    ((low, high),) = scales(figure)
    assert low < 7 < high
    assert "pixel value (white: missing)" in {text.get_text() for text in words(figure)}
    second = next(axis for axis in figure.axes if axis.get_title() == "image 2")
    np.testing.assert_array_equal(np.ma.getmaskarray(second.get_images()[0].get_array()), [[True, False, False]] * 4)


# Sentences


@every_kind
def test_each_row_has_a_sentence(kind):
    found = sentences(drawn(kind)[2])
    assert [sentence[:5] for sentence in found] == ["(a)  ", "(b)  ", "(c)  ", "(d)  "]
    assert all(sentence.endswith(".") for sentence in found)


def test_sentences_carry_the_model_s_numbers():
    model, _, figure = drawn("four modes")
    _, _, kept, end = sentences(figure)
    assert "12 features stand for 504 pixels" in kept
    assert f"{100 * model.captured_ratio_:.2f} % of the variation is captured" in end
    assert end.endswith(f"converged after {model.n_iter_} sweeps.")
    assert "(entry 2 of mode 2)" in sentences(figure)[0]


def test_one_of_each_is_singular():
    x = streams(5, (1,))
    found = sentences(mpca_figure(fm.MPCA(ranks=(1,), tol=0, max_iter=1).fit(x), x))
    assert "1 feature stands for 1 pixel." in found[2]
    assert found[3].endswith("100.00 % of the variation is captured; stopped after 1 sweep, not converged.")
