"""The tensor algebra against its definitions, written out with einsum and with the Kronecker product."""

from functools import reduce

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedmpca.numerics.pieces import asset_blocks, slabs
from fedmpca.numerics.tensors import contract, expand, mode_scatter, project, to_host, unfold

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def stack(shape, assets=3, seed=0):
    return np.random.default_rng(seed).normal(size=(assets, *shape))


def some_factors(shape, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(length, rng.integers(1, length + 1))) for length in shape]


@given(shapes, st.data())
def test_columns_of_an_unfolding_are_the_modes_fibres(shape, data):
    mode = data.draw(st.integers(0, len(shape) - 1))
    x = stack(shape)
    fibres = np.moveaxis(x, mode + 1, 0).reshape(shape[mode], -1)
    np.testing.assert_array_equal(unfold(x, mode), fibres)


@given(shapes, st.data())
def test_contracting_is_the_mode_product_with_the_transposed_factor(shape, data):
    mode = data.draw(st.integers(0, len(shape) - 1))
    x, factor = stack(shape), some_factors(shape)[mode]
    expected = np.moveaxis(np.tensordot(x, factor, axes=(mode + 1, 0)), -1, mode + 1)
    np.testing.assert_allclose(contract(x, factor, mode), expected, rtol=1e-13, atol=1e-13)


@given(shapes, st.data())
def test_projecting_equals_the_kronecker_product_of_the_paper(shape, data):
    """Eq. 2: X_(n) times the Kronecker product of the other factors, in the order in which our unfolding has them."""
    mode = data.draw(st.integers(0, len(shape) - 1))
    x, factors = stack(shape), some_factors(shape)
    others = [factor for n, factor in enumerate(factors) if n != mode]
    kronecker = reduce(np.kron, others, np.ones((1, 1)))
    for asset in x:
        expected = unfold(asset[None], mode) @ kronecker
        np.testing.assert_allclose(unfold(project(asset[None], factors, skip=[mode]), mode), expected, atol=1e-12)


@given(shapes, st.data())
def test_a_modes_scatter_is_the_sum_over_assets_of_equation_2(shape, data):
    mode = data.draw(st.integers(0, len(shape) - 1))
    x = stack(shape)
    expected = sum(unfold(asset[None], mode) @ unfold(asset[None], mode).T for asset in x)
    np.testing.assert_allclose(mode_scatter(x, mode), expected, rtol=1e-12, atol=1e-12)


@given(shapes)
def test_expanding_is_the_adjoint_of_projecting(shape):
    """<project(x), y> = <x, expand(y)> for every x and y."""
    x, factors = stack(shape), some_factors(shape)
    y = np.random.default_rng(2).normal(size=(len(x), *(factor.shape[1] for factor in factors)))
    assert np.vdot(project(x, factors), y) == pytest.approx(np.vdot(x, expand(y, factors)), rel=1e-10, abs=1e-10)


@given(shapes, st.data())
def test_the_same_text_runs_on_any_array_library(shape, data):
    """array-api-strict has the standard's functions and nothing else."""
    mode = data.draw(st.integers(0, len(shape) - 1))
    x, factors = stack(shape), some_factors(shape)
    strict_x, strict_factors = array_api_strict.asarray(x), [array_api_strict.asarray(factor) for factor in factors]
    for here, there in (
        (unfold(x, mode), unfold(strict_x, mode)),
        (mode_scatter(x, mode), mode_scatter(strict_x, mode)),
        (project(x, factors, skip=[mode]), project(strict_x, strict_factors, skip=[mode])),
        (expand(project(x, factors), factors), expand(project(strict_x, strict_factors), strict_factors)),
    ):
        np.testing.assert_allclose(here, to_host(there), rtol=1e-12, atol=1e-12)


@given(st.integers(1, 50), st.integers(1, 30), st.integers(1, 100))
def test_blocks_cover_the_assets_once_and_in_order(assets, cells, piece_cells):
    blocks = asset_blocks(assets, cells, piece_cells)
    assert [asset for block in blocks for asset in range(assets)[block]] == list(range(assets))
    assert all(block.stop - block.start == 1 or (block.stop - block.start) * cells <= piece_cells for block in blocks)


@given(st.integers(1, 3), shapes, st.integers(1, 40), st.data())
def test_pieces_cover_a_block_once_for_every_mode_that_is_whole_in_them(assets, shape, piece_cells, data):
    modes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    covered = {mode: np.zeros((assets, *shape), int) for mode in modes}
    for piece, served in slabs((assets, *shape), modes, piece_cells):
        for mode in served:
            assert piece[mode + 1] == slice(0, shape[mode])
            covered[mode][piece] += 1
    assert all((count == 1).all() for count in covered.values())
