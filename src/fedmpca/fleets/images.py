"""Streams kept as images: the pages of a TIFF file, or a folder of numbered frames. They become the last axis.

Images are grey. A stream of images can only be read whole (``sliceable = False``).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedmpca.errors import DataError
from fedmpca.fleets.opening import optional, reading, refuse_odd_dtype

__all__ = ["Frames", "TiffPages", "open_frames", "open_tiff"]

FRAME_SUFFIXES = (".png", ".tif", ".tiff")


@dataclass(frozen=True)
class TiffPages:
    """The pages of one TIFF file, grey; they become the last axis."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    sliceable = False

    @property
    def name(self) -> str:
        return str(self.path)

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give rows ``start`` to ``stop - 1`` of the first ``length`` pages."""
        tifffile = optional("tifffile", f"reading {self.path.name}")
        with reading(self.name), tifffile.TiffFile(self.path) as file:
            pages = file.series[0].asarray().reshape(self.shape[-1], *self.shape[:-1])
        return np.ascontiguousarray(np.moveaxis(pages[:length, start:stop], 0, -1), self.dtype)


def open_tiff(path: Path, inside: str) -> TiffPages:
    """Open a multi-page TIFF; all pages must have one shape and be grey."""
    tifffile = optional("tifffile", f"reading {path.name}")
    with reading(str(path)), tifffile.TiffFile(path) as file:
        shapes = [tuple(series.shape) for series in file.series]
        series = file.series[0]
        shape, dtype, is_grey = shapes[0], series.dtype, "S" not in series.axes
    if len(shapes) > 1 or len(shape) not in (2, 3) or not is_grey:
        raise DataError(
            f"{path} holds images of shapes {shapes[:5]}: a stream is pages of one shape, grey; write it so, or as .npy"
        )
    refuse_odd_dtype(dtype, str(path))
    pages = shape if len(shape) == 3 else (1, *shape)
    return TiffPages(path, (*pages[1:], pages[0]), dtype.newbyteorder("="))


@dataclass(frozen=True)
class Frames:
    """A folder of numbered grey images, in the order of their numbers; they become the last axis."""

    path: Path
    files: tuple[Path, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    sliceable = False

    @property
    def name(self) -> str:
        return str(self.path)

    def read(self, start: int, stop: int, length: int) -> NDArray[Any]:
        """Give rows ``start`` to ``stop - 1`` of the first ``length`` frames."""
        block = np.empty((stop - start, *self.shape[1:-1], length), self.dtype)
        for place, file in enumerate(self.files[:length]):
            frame = _frame(file)
            if frame.shape != self.shape[:-1] or frame.dtype != self.dtype:
                raise DataError(
                    f"{file} has shape {frame.shape}, {frame.dtype}, and the first frame has {self.shape[:-1]}, "
                    f"{self.dtype}: write all frames of a stream alike"
                )
            block[..., place] = frame[start:stop]
        return block


def _frame(file: Path) -> NDArray[Any]:
    with reading(str(file)):
        if file.suffix.lower() == ".png":
            frame = optional("imageio.v3", f"reading {file.name}").imread(file.read_bytes(), plugin="pillow")
        else:
            frame = optional("tifffile", f"reading {file.name}").imread(file)
    return np.asarray(frame)


def open_frames(path: Path) -> Frames:
    """List a folder's frames by number; the first one says what all are like."""
    files = [file for file in path.iterdir() if file.suffix.lower() in FRAME_SUFFIXES and not file.name.startswith(".")]
    if not files:
        raise DataError(
            f"{path} holds no frames: a folder of a stream holds numbered {', '.join(FRAME_SUFFIXES)} images"
        )
    numbered = sorted(((_numbers(file), file) for file in files), key=lambda pair: (pair[0], pair[1].name))
    for (number, file), (following, other) in itertools.pairwise(numbered):
        if number == following:
            raise DataError(f"{file.name} and {other.name} in {path} have the same number: keep one of them")
    first = _frame(numbered[0][1])
    if first.ndim != 2:
        raise DataError(
            f"{numbered[0][1]} has shape {first.shape}: frames are grey, (height, width); convert the images to grey"
        )
    refuse_odd_dtype(first.dtype, str(numbered[0][1]))
    return Frames(path, tuple(file for _, file in numbered), (*first.shape, len(files)), first.dtype)


def _numbers(file: Path) -> tuple[int, ...]:
    numbers = tuple(int(digits) for digits in re.findall(r"[0-9]+", file.stem))
    if not numbers:
        raise DataError(
            f"{file} has no number in its name: frames are ordered by number, as in frame_001.png; rename or remove it"
        )
    return numbers
