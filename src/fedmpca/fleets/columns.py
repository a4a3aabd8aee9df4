"""What a fleet refuses in what is known about each asset, with the row, the value and the way out.

Rows are counted from 1, as in a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedmpca.errors import DataError

__all__ = ["as_covariates", "as_entry", "as_events", "as_ids", "as_lives", "as_upper", "check_count", "first", "row"]

Floats = NDArray[np.float64]


def row(ids: NDArray[np.str_], place: int) -> str:
    """Name an asset as messages do."""
    return f"row {place + 1}, asset {str(ids[place])!r}"


def first(where: NDArray[np.bool_]) -> int:
    """Give the first row where something is wrong."""
    return int(np.flatnonzero(where)[0])


def as_ids(ids: Any, count: int) -> NDArray[np.str_]:
    """Give ids as strings; "1" to "M" where there are none."""
    if ids is None:
        return np.arange(1, count + 1).astype(str)
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise DataError(f"ids are {ids!r}: give a sequence of names, one for each asset")
    names = [str(name) for name in ids]
    check_count("ids", len(names), count)
    for place, name in enumerate(names):
        if not name or not all(character >= " " and character != "\x7f" for character in name):
            raise DataError(
                f"the id of row {place + 1} is {name!r}: an id has at least one character and no tabs or line ends"
            )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        places = [place + 1 for place, name in enumerate(names) if name == repeated[0]]
        raise DataError(f"id {repeated[0]!r} stands in rows {_few(places)}: ids are unique; give each asset its own")
    return np.array(names, dtype=str)


def _few(places: list[int]) -> str:
    shown = ", ".join(str(place) for place in places[:5])
    return shown + (f" and {len(places) - 5} more" if len(places) > 5 else "")


def check_count(name: str, given: int, count: int) -> None:
    if given != count:
        raise DataError(
            f"{given} {name} were given for {count} assets: give one for each asset, in the order of streams"
        )


def _numbers(values: Any, name: str, count: int) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} are not all numbers ({error}): give one number for each asset") from None
    if array.ndim != 1:
        raise DataError(f"{name} have shape {array.shape}: give one number for each of the {count} assets")
    check_count(name, len(array), count)
    return array


def as_upper(upper: Any, ids: NDArray[np.str_]) -> Floats | None:
    """Give the upper ends of the lives, NaN where the life is not known as an interval. Infinity says the same."""
    if upper is None:
        return None
    array = _numbers(upper, "upper", len(ids))
    array[np.isposinf(array)] = np.nan
    return array


def as_lives(lives: Any, upper: Floats | None, ids: NDArray[np.str_]) -> Floats | None:
    """Check lives: positive and finite, 0 only as the lower end of an interval; then the interval itself."""
    if lives is None:
        if upper is not None:
            raise DataError(
                "upper is given without lives: the life lies in (lives, upper], so give lives too (0: left-censored)"
            )
        return None
    array = _numbers(lives, "lives", len(ids))
    bounded = np.zeros(len(ids), bool) if upper is None else ~np.isnan(upper)
    wrong = ~np.isfinite(array) | (array < 0) | ((array == 0) & ~bounded)
    if wrong.any():
        place = first(wrong)
        raise DataError(
            f"the life of {row(ids, place)} is {array[place]:g}: lives are positive and finite. Leave the asset out; "
            "where it is still running give its age now with event False; 0 needs an upper end (left-censored); "
            "where no life is known give lives=None for the whole fleet"
        )
    if upper is not None and (empty := upper <= array).any():
        place = first(empty)
        raise DataError(
            f"{row(ids, place)} has upper {upper[place]:g} and life {array[place]:g}: the life lies in (life, upper], "
            "so upper is the greater; where the life is known exactly leave upper out (NaN)"
        )
    return array


def as_events(
    events: Any, lives: Floats | None, upper: Floats | None, ids: NDArray[np.str_]
) -> NDArray[np.bool_] | None:
    """Give events as booleans: True failed, False still running."""
    if lives is None:
        if events is not None:
            raise DataError(
                "events are given without lives: an event says what happened at the life, so give lives too"
            )
        return None
    if events is None:
        return np.ones(len(ids), bool)
    array = _numbers(events, "events", len(ids))
    wrong = ~np.isin(array, (0, 1))
    if wrong.any():
        place = first(wrong)
        raise DataError(
            f"the event of {row(ids, place)} is {array[place]:g}: True (1) for failed, False (0) for still running"
        )
    flags: NDArray[np.bool_] = array == 1
    if upper is not None and (running := ~flags & ~np.isnan(upper)).any():
        place = first(running)
        raise DataError(
            f"{row(ids, place)} is still running (event False) and has upper {upper[place]:g}: an upper end means "
            "that it failed; set the event True, or leave upper out (NaN)"
        )
    return flags


def as_entry(entry: Any, lives: Floats | None, upper: Floats | None, ids: NDArray[np.str_]) -> Floats | None:
    """Check entries: not negative, below the life (for an interval: not above its lower end)."""
    if entry is None:
        return None
    array = _numbers(entry, "entry", len(ids))
    wrong = ~np.isfinite(array) | (array < 0)
    if wrong.any():
        place = first(wrong)
        raise DataError(
            f"the entry of {row(ids, place)} is {array[place]:g}: give the age from which it was watched, 0 for from "
            "new"
        )
    if lives is None:
        return array
    late = array >= lives
    if upper is not None:  # an asset inspected when it enters has its lower end there
        late &= ~((array == lives) & ~np.isnan(upper))
    if late.any():
        place = first(late)
        raise DataError(
            f"{row(ids, place)} was watched from age {array[place]:g} on and has life {lives[place]:g}: entry lies "
            "below the life; an asset that failed before it was watched does not belong in the fleet"
        )
    return array


def as_covariates(covariates: Any, ids: NDArray[np.str_]) -> pd.DataFrame | None:
    """Give the table of further columns as floats, rows in the order of the assets."""
    if covariates is None:
        return None
    if isinstance(covariates, np.ndarray) and covariates.ndim == 2:
        covariates = pd.DataFrame(covariates, columns=[f"covariate_{k + 1}" for k in range(covariates.shape[1])])
    try:
        table = pd.DataFrame(covariates)
    except (TypeError, ValueError) as error:
        raise DataError(f"covariates are no table ({error}): give a DataFrame with a row for each asset") from None
    table.columns = [str(name) for name in table.columns]
    check_count("rows of covariates", len(table), len(ids))
    _check_order(table, ids)
    repeated = [name for name, times in Counter(table.columns).items() if times > 1]
    if repeated:
        raise DataError(f"two covariates are called {repeated[0]!r}: give each column its own name")
    return pd.DataFrame({name: _covariate(table[name], name, ids) for name in table.columns}, index=range(len(ids)))


def _check_order(table: pd.DataFrame, ids: NDArray[np.str_]) -> None:
    labels = [str(label) for label in table.index]
    if labels != ids.tolist() and set(labels) == set(ids.tolist()):
        raise DataError(
            "covariates are indexed by the assets' ids in another order: use covariates.loc[ids], or "
            "reset_index(drop=True)"
        )


def _covariate(column: pd.Series[Any], name: str, ids: NDArray[np.str_]) -> Floats:
    values = np.empty(len(ids))
    for place, cell in enumerate(column.tolist()):
        try:
            values[place] = np.nan if pd.isna(cell) else float(cell)
        except (TypeError, ValueError):
            raise DataError(
                f"covariate {name!r} of {row(ids, place)} is {cell!r}, not numeric: encode it as numbers, or leave the "
                "column out"
            ) from None
    if not np.isfinite(values).all():
        place = first(~np.isfinite(values))
        raise DataError(
            f"covariate {name!r} of {row(ids, place)} is {values[place]:g}: covariates are finite; fill it in, or "
            "leave the asset or the column out"
        )
    return values
