"""The figure as a whole: any number of modes, nothing cut off, no trace in matplotlib, errors that name the way out."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from drawn_figures import KINDS, drawn, model_and_fleet, overlapping, words
from matplotlib.figure import Figure
from matplotlib.image import imread

import fedmpca as fm
from fedmpca.cli.console import percent as percent_at_a_terminal
from fedmpca.errors import DataError, NotFittedError
from fedmpca.report import mpca_figure
from fedmpca.report.labels import asset_name, number, percent
from fedmpca.report.panels import some_images


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_lies_on_another_or_outside(kind):
    _, _, figure = drawn(kind)
    assert len(words(figure)) > 20
    assert overlapping(figure) == []


def test_it_becomes_a_picture():
    file = io.BytesIO()
    _, _, figure = drawn("one mode")
    assert isinstance(figure, Figure)
    figure.savefig(file, format="png", dpi=50)
    picture = imread(io.BytesIO(file.getvalue()))
    assert picture.shape[1] == 450
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        (1,),
        (300,),
        (1, 1),
        (1, 5),
        (5, 1),
        (200, 3),
        (1, 1, 1),
        (5, 1, 1),
        (200, 5, 3),
        (3, 3, 200),
        (11, 12, 13, 10, 10),
        (2,) * 6,
    ],
)
def test_streams_of_any_shape(shape):
    x = np.random.default_rng(0).normal(size=(4, *shape))
    figure = mpca_figure(fm.MPCA(variance_kept=0.8, max_iter=2, tol=0).fit(x), x)
    assert overlapping(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-160, 1e140])
def test_values_of_any_size(scale):
    x = model_and_fleet((4, 3), 2)[1].streams * scale
    assert overlapping(mpca_figure(fm.MPCA(ranks=(1, 1), tol=float("inf")).fit(x), x)) == []


# Names


def names(*ids, **known):
    return [asset_name(fm.Fleet(np.zeros((len(ids), 1)), ids=ids, **known), row) for row in range(len(ids))]


def test_ids_are_cut_in_the_middle_so_that_assets_differ():
    long = names("compressor-station-north-unit-0001", "compressor-station-north-unit-0002", "x" * 16, "x" * 17)
    assert long == ["compre…unit-0001", "compre…unit-0002", "x" * 16, "xxxxxx…xxxxxxxxx"]
    assert names("7", "12345678901234567890", "unit 7") == ["asset 7", "asset 123456…234567890", "unit 7"]


def test_lives_are_said_as_they_are_known():
    known = {"lives": [12.345, 999.7, 0, 4], "events": [1, 0, 1, 1], "upper": [np.nan, np.nan, 3, 9000]}
    assert names("a", "b", "c", "d", **known) == [
        "a\nlife 12.3",
        "b\nrunning at 1,000",
        "c\nlife 0 to 3",
        "d\nlife 4 to 9,000",
    ]
    assert names("a", lives=[3]) == ["a\nlife 3"]
    assert names("a") == ["a"]


def test_ids_are_no_formulas_and_stand_in_the_legend():
    model, fleet = model_and_fleet((6,), 3, {"ids": ["_hidden", r"$\frac$", "a$b$c"]})
    seen = {text.get_text() for text in words(mpca_figure(model, fleet))}
    assert {"asset _hidden", r"\$\frac\$", r"a\$b\$c"} <= seen  # matplotlib shows \$ as $


def test_numbers_or_ages_stand_over_the_images():
    over = {kind: [axis.get_title() for axis in drawn(kind)[2].axes if axis.get_images()] for kind in KINDS}
    assert over["four modes"][:5] == ["image 1", "image 2", "image 3", "image 4", ""]
    assert over["long ids, far ages, many ranks"][:2] == ["age 0.001", "129,955"]
    assert over["slivers, own clocks"][:8] == ["age 0", "1,000", "20,000", "2e+07", "age 1", "1,002", "20,001", "2e+07"]


@pytest.mark.parametrize(
    ("length", "chosen"),
    [
        (1, [0]),
        (10, list(range(10))),
        (11, [0, 2, 4, 6, 8, 10]),  # evenly spaced, where six or more can be
        (12, [0, 1, 2, 4, 5, 6, 7, 9, 10, 11]),
        (19, list(range(0, 19, 2))),
    ],
)
def test_up_to_ten_images_the_first_and_the_last_among_them(length, chosen):
    assert some_images(length) == chosen


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.00 %"),
        (0.5, "50.00 %"),
        (0.99994, "99.99 %"),
        (0.99999999, "99.99 %"),
        (1 - 1e-15, "100.00 %"),
        (1, "100.00 %"),
    ],
)
def test_100_percent_is_said_only_of_everything_and_alike_everywhere(share, text):
    assert percent(share) == percent_at_a_terminal(share) == text


def test_numbers_are_short():
    values = [0, 0.00123456, 12.345, 999.4, 999.7, 1234.5, 9_999_999, 123456789, -4321]
    assert [number(value) for value in values] == [
        *("0", "0.00123", "12.3", "999", "1,000", "1,234", "9,999,999", "1.23e+08", "-4,321")
    ]


# Fleets


def test_of_a_fleet_on_disk_only_what_is_shown_is_read(tmp_path):
    model, fleet = model_and_fleet((4, 3), 20, {"lives": np.arange(20, 0, -1)})
    fm.save_fleet(fleet, tmp_path / "fleet")
    lazy = fm.load_fleet(tmp_path / "fleet", memory_limit="1 kB")
    with (tmp_path / "fleet" / "streams.npy").open("r+b") as file:
        file.truncate(128 + 10 * 96)  # the second half of the assets is gone, and an asset read would be missed
    with pytest.raises(DataError, match="has become shorter"):
        mpca_figure(model, lazy)
    half = lazy[:10]
    shown = [axis.get_images()[0].get_array() for axis in mpca_figure(model, half).axes if axis.get_images()]
    np.testing.assert_array_equal(shown, fleet.streams[[9, 5, 0]])


def test_assets_that_fell_short_are_left_to_the_prefix():
    whole = model_and_fleet((4, 3, 5))[1].streams
    fleet = fm.Fleet([whole[0], whole[1][..., :3], *whole[2:]])
    with pytest.raises(DataError, match=r"have 3 to 5 images, and the model was fitted to 5: give fleet.prefix\(5\)"):
        mpca_figure(fm.MPCA(ranks=(1, 1, 1)).fit(fleet.prefix(5)), fleet)


@pytest.mark.parametrize(
    ("fleet", "what"),
    [
        (np.zeros((3, 4, 3)), r"shape \(4, 3\), and the model was fitted to \(4, 3, 5\): give the fleet.*fleet.prefix"),
        (np.zeros((3, 4, 3, 6)), r"shape \(4, 3, 6\), and the model was fitted to \(4, 3, 5\)"),
        ("pump", "streams are a str"),
        (np.zeros((3, 4, 3, 5), object), "dtype object"),
    ],
)
def test_other_fleets_are_refused(fleet, what):
    with pytest.raises(DataError, match=what):
        mpca_figure(model_and_fleet((4, 3, 5))[0], fleet)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        mpca_figure(fm.MPCA(), np.zeros((3, 4, 3, 5)))


def test_model_and_fleet_stay_as_they_are():
    model, fleet = model_and_fleet((6,))
    before = [array.copy() for array in (fleet.streams, model.mean_, model.captured_, *model.factors_, *model.spectra_)]
    mpca_figure(model, fleet)
    after = (fleet.streams, model.mean_, model.captured_, *model.factors_, *model.spectra_)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))


# matplotlib


def pixels(figure):
    file = io.BytesIO()
    figure.savefig(file, format="raw", dpi=40, facecolor="white")
    return file.getvalue()


def user_settings():
    """All but the backend: to read that loads pyplot."""
    return {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}


def test_settings_of_the_user_stay_and_do_not_matter():
    model, fleet = model_and_fleet((4, 3), 2)
    plain = mpca_figure(model, fleet)
    with mpl.rc_context():
        mpl.rcParams.update({"font.size": 30, "axes.facecolor": "k", "image.origin": "upper", "lines.linewidth": 9})
        mpl.rcParams.update({"text.usetex": True, "axes.grid": True, "figure.figsize": (1, 1), "image.cmap": "jet"})
        own = user_settings()
        figure = mpca_figure(model, fleet)
        assert user_settings() == own
    assert pixels(figure) == pixels(plain)
