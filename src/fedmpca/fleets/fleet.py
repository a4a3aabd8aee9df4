"""An organisation's assets as one value: their streams, and what is known about each."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from fedmpca.errors import DataError
from fedmpca.fleets import checks, columns, grid
from fedmpca.fleets.choosing import cut, is_array, rows, settled, take
from fedmpca.fleets.lazy import DEFAULT_MEMORY_LIMIT, LazyStreams, RaggedStreams

__all__ = ["Fleet"]

Floats = NDArray[np.float64]

PER_ASSET = ("lives", "events", "ids", "upper", "entry")


class Fleet:
    """Assets with an image stream each, and their lives where these are known.

    A fleet is a value: nothing changes it, indexing and cutting give other fleets. Streams are kept as given, without a
    copy; their values are not looked at here. Rows are counted from 1 in messages, as in a table.

    Parameters
    ----------
    streams : array (asset, mode 0, ..., mode N-1), or list of arrays (mode 0, ..., mode N-1)
        The last mode is time. A NumPy array, or anything with ``.shape``, ``.dtype``, ``len`` and ``[i:j]``. The
        arrays of a list may differ in length (the last axis) only. Two axes are a table of features, which has no
        time.
    lives : array (asset,), optional
        Positive ages at failure, or the age reached by an asset that is still running.
    events : array (asset,), optional
        True: failed at that age; False: still running. All True where lives are given without events.
    ids : sequence of str, optional
        Unique names; "1", "2", ... where there are none.
    times : array (time,) or list of arrays, optional
        Age at each image, in the unit of lives: one increasing vector for all, or one for each asset. Without it
        images are numbered 1, 2, 3, ..., which is no clock (see ``declares_clock``).
    upper : array (asset,), optional
        The life lies in (life, upper]: a failure found at an inspection. Life 0 is left-censored. NaN: no interval.
    entry : array (asset,), optional
        Age from which each asset was watched, below its life.
    covariates : table (asset, name), optional
        Further numeric columns, rows in the order of the assets.

    Attributes
    ----------
    declares_clock : bool
        Whether times were given. Only then may later code treat them as ages and condition on them.

    Examples
    --------
    >>> import numpy as np
    >>> fleet = Fleet(np.zeros((4, 21, 21, 10)), lives=[30, 41, 38, 52])
    >>> fleet[:2].prefix(5).shape
    (2, 21, 21, 5)
    """

    streams: Any
    lives: Floats | None
    events: NDArray[np.bool_] | None
    ids: NDArray[np.str_]
    times: Floats | list[Floats]
    upper: Floats | None
    entry: Floats | None
    covariates: pd.DataFrame | None
    declares_clock: bool

    def __init__(
        self,
        streams: Any,
        lives: Any = None,
        events: Any = None,
        ids: Any = None,
        times: Any = None,
        upper: Any = None,
        entry: Any = None,
        covariates: Any = None,
    ) -> None:
        self.streams = settled(checks.as_streams(streams, ids))
        self.ids = columns.as_ids(ids, len(self))
        self.upper = columns.as_upper(upper, self.ids)
        self.lives = columns.as_lives(lives, self.upper, self.ids)
        self.events = columns.as_events(events, self.lives, self.upper, self.ids)
        self.entry = columns.as_entry(entry, self.lives, self.upper, self.ids)
        self.covariates = columns.as_covariates(covariates, self.ids)
        self.declares_clock = times is not None
        if self.declares_clock:
            self._need_time("times")
        self.times = checks.as_times(times, self.lengths, self.ids)

    # What it is like

    def __len__(self) -> int:
        if isinstance(self.streams, list | RaggedStreams):
            return len(self.streams)
        return int(self.streams.shape[0])  # an array of the standard has no len

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Images of each asset."""
        if isinstance(self.streams, list):
            return np.array([stream.shape[-1] for stream in self.streams], dtype=np.intp)
        if isinstance(self.streams, RaggedStreams):
            return self.streams.lengths
        return np.full(len(self), self.streams.shape[-1], dtype=np.intp)

    @property
    def stream_shape(self) -> tuple[int, ...]:
        """Shape (mode 0, ..., mode N-1) of one stream; the longest where they differ."""
        if isinstance(self.streams, RaggedStreams):
            return self.streams.stream_shape
        if isinstance(self.streams, list):
            return (*self.streams[0].shape[:-1], int(self.lengths.max()))
        return tuple(int(size) for size in self.streams.shape[1:])

    @property
    def shape(self) -> tuple[int, ...]:
        """Assets, then the shape of one stream; the longest where they differ."""
        return (len(self), *self.stream_shape)

    @property
    def ndim(self) -> int:
        """Axes, the assets' included."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's name for the numbers in the streams."""
        if isinstance(self.streams, list):
            return np.result_type(*[checks.numeric_dtype(stream) for stream in self.streams])
        return checks.numeric_dtype(self.streams)

    @property
    def is_ragged(self) -> bool:
        """Whether streams differ in length."""
        return isinstance(self.streams, list | RaggedStreams)

    @property
    def memory_limit(self) -> int | None:
        """Bytes of streams that a pass may hold at a time; None where they are in memory already."""
        if isinstance(self.streams, list) or is_array(self.streams):
            return None
        return int(getattr(self.streams, "memory_limit", DEFAULT_MEMORY_LIMIT))

    # Choosing assets

    def __getitem__(self, key: Any) -> Self:
        """Choose assets: a slice, mask, indices, or one integer. An asset may be taken twice, as a bootstrap does."""
        chosen_rows = rows(key, len(self))
        streams = settled(take(self.streams, chosen_rows))
        changes = {name: None if (values := getattr(self, name)) is None else values[chosen_rows] for name in PER_ASSET}
        covariates = None if self.covariates is None else self.covariates.iloc[chosen_rows].reset_index(drop=True)
        chosen = self._with(streams=streams, covariates=covariates, **changes)
        if isinstance(self.times, list):
            places = np.arange(len(self))[chosen_rows].tolist()
            return chosen._with(times=checks.collapse([self.times[place] for place in places]))
        return chosen._with(times=self.times[: int(chosen.lengths.max())])

    def __iter__(self) -> Iterator[Self]:
        return (self[place] for place in range(len(self)))

    def _with(self, **changes: Any) -> Self:
        """Give the same fleet with other attributes, which are known to be right."""
        fleet = object.__new__(type(self))
        fleet.__dict__.update(self.__dict__ | changes)
        return fleet

    # Cutting and resampling in time

    def prefix(self, length: int) -> Self:
        """Give the first ``length`` images of every asset that has as many; the others are left out.

        Raises
        ------
        DataError
            Where no asset has ``length`` images, or ``length`` is below 1.
        """
        self._need_time("prefix")
        count, longest = _as_length(length), int(self.lengths.max())
        if not 1 <= count <= longest:
            raise DataError(
                f"prefix({count}): the longest stream has {longest} images; give a length from 1 to {longest}"
            )
        enough = self.lengths >= count
        fleet = self if enough.all() else self[np.flatnonzero(enough)]
        times = fleet.times
        shortened = checks.collapse([vector[:count] for vector in times]) if isinstance(times, list) else times[:count]
        return fleet._with(streams=cut(fleet.streams, count), times=shortened)

    def at(self, times: Any) -> Self:
        """Read every stream off at other ages, by linear interpolation between images and never beyond them.

        The result has one vector of times and one array of streams, floats of the streams' own kind (integers become
        float64). At an age where there is an image it is that image, to the bit. It declares a clock: its times are
        ages.

        Raises
        ------
        DataError
            Where an asset did not see all of ``times``; the message names it and the ages it saw.
        """
        self._need_time("at")
        ages = checks.as_ages(times)
        knots = self.times if isinstance(self.times, list) else [self.times[:length] for length in self.lengths]
        grid.check_seen(knots, ages, self.ids.tolist())
        own = isinstance(self.times, list) or self.is_ragged
        dtype = grid.resampled_dtype(self.dtype)
        modes = self.stream_shape[:-1]
        streams = np.asarray(self.streams) if is_array(self.streams) else self.streams
        source = grid.Resampled(streams, knots if own else knots[0], ages, modes, dtype)
        limit = self.memory_limit
        read = source.read(0, len(self), len(ages)) if limit is None else LazyStreams.of(source, limit)
        return self._with(streams=read, times=ages, declares_clock=True)

    def _need_time(self, what: str) -> None:
        if self.ndim == 2:
            raise DataError(
                f"{what}: this fleet has shape {self.shape}, a table of features, which has no time; use the fleet of "
                "streams that the features were made from"
            )

    # How others see it

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if self.is_ragged:
            shortest = int(self.lengths.min())
            raise DataError(
                f"streams of {shortest} to {int(self.lengths.max())} images make no one array: cut them first, for "
                f"example with prefix({shortest})"
            )
        return np.array(self.streams, dtype=dtype) if copy else np.asarray(self.streams, dtype=dtype)

    def __repr__(self) -> str:
        lives = "" if self.events is None else f", failed={int(self.events.sum())}, running={int((~self.events).sum())}"
        return f"Fleet(shape={self.shape}, dtype={self.dtype}{lives})"

    def _repr_html_(self) -> str:
        from fedmpca.fleets.notebook import fleet_html  # drawing is loaded where it is used

        return fleet_html(self)


def _as_length(length: Any) -> int:
    try:
        return operator.index(length)
    except TypeError:
        raise DataError(f"prefix({length!r}): give the number of images as an integer") from None
