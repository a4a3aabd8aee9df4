"""The view in a notebook."""

import base64
import io
import re

import numpy as np
import pytest
from fleet_samples import full_fleet, ragged_fleet, streams
from matplotlib.image import imread

from fedmpca.fleets import Fleet


def pictures(page):
    return [imread(io.BytesIO(base64.b64decode(data))) for data in re.findall(r"base64,([^']+)", page)]


def test_summary_and_captions():
    page = full_fleet()._repr_html_()
    assert "4 assets, streams 3 × 4 × 5, float64, 1.92 kB" in page
    assert "lives 0 to 30, median 8.875; 3 failed, 1 still running" in page
    assert "asset c, running at 30" in page
    assert [picture.shape for picture in pictures(page)] == [(3, 4, 4)] * 8


def test_one_scale_an_asset():
    stream = np.zeros((1, 2, 2, 2))
    stream[..., 1] = 1
    first, last = pictures(Fleet(stream)._repr_html_())
    assert not np.allclose(first, last)


def test_ids_are_escaped():
    page = Fleet(streams(1), ids=["<script>"])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_only_four_assets_are_read():
    class Counting:
        shape, dtype, ndim = (9, 2, 2, 2), np.dtype("float32"), 4
        reads = ()

        def __len__(self):
            return 9

        def __getitem__(self, key):
            self.reads += (key.start, key.stop)
            return np.zeros((key.stop - key.start, 2, 2, 2), "float32")

    given = Counting()
    assert len(pictures(Fleet(given)._repr_html_())) == 8
    assert max(given.reads) == 4


@pytest.mark.parametrize(
    ("fleet", "count"),
    [
        (Fleet(streams(2, (7,))), 0),
        (Fleet(streams(2, (7, 8))), 2),
        (Fleet(streams(2, (3, 4, 5, 6))), 4),
        (Fleet(np.full((1, 2, 2, 2), np.nan)), 2),
        (Fleet(streams(1, (600, 300, 2))), 2),
        (ragged_fleet(), 8),
    ],
)
def test_streams_of_every_kind(fleet, count):
    shown = pictures(fleet._repr_html_())
    assert len(shown) == count
    assert all(max(picture.shape) <= 256 for picture in shown)
