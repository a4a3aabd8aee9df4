"""How a stack of streams is cut into pieces that stay in cache.

The cut depends on shapes alone, never on threads, workers or memory: the same input is cut, and so added, in the same
way everywhere, and gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

__all__ = ["PIECE_CELLS", "asset_blocks", "slabs"]

PIECE_CELLS = 2**18
"""Cells of a piece: 2 MB of float64, so that a piece and what is made of it stay in cache."""


def asset_blocks(n_assets: int, cells: int, piece_cells: int = PIECE_CELLS) -> list[slice]:
    """Runs of whole assets of `cells` entries each: as many as fit in a piece, at least one."""
    step = max(1, piece_cells // max(1, cells))
    return [slice(start, min(start + step, n_assets)) for start in range(0, n_assets, step)]


def slabs(
    shape: Sequence[int], modes: Sequence[int], piece_cells: int = PIECE_CELLS
) -> Iterator[tuple[tuple[slice, ...], list[int]]]:
    """Cut a block of shape (asset, mode 0, ...) so that each of `modes` is whole in the pieces that serve it.

    Gives (index into the block, modes served). A block that is a piece is not cut; else mode 0 is cut, for all modes
    but 0, and mode 1 is cut for mode 0. A vector (one mode) is never cut.
    """
    whole = tuple(slice(0, length) for length in shape)
    if prod(shape) <= piece_cells or len(shape) == 2:
        yield whole, list(modes)
        return
    for cut, served in ((0, [mode for mode in modes if mode != 0]), (1, [mode for mode in modes if mode == 0])):
        if served:
            axis = cut + 1
            step = max(1, piece_cells * shape[axis] // prod(shape))
            for start in range(0, shape[axis], step):
                part = slice(start, min(start + step, shape[axis]))
                yield (*whole[:axis], part, *whole[axis + 1 :]), served
