"""Before a member says hello: does its fleet meet the agreement? Compared at home; nothing of it is told to anybody.

The error names the member, its own value and the agreed one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fedmpca.errors import AgreementError
from fedmpca.fleets import Fleet
from fedmpca.numerics.tensors import to_host
from fedmpca.protocol.agreement import Agreement
from fedmpca.studies.sample import Block, Sample
from fedmpca.studies.workers import over_blocks

__all__ = ["ValueRange", "check_layout", "check_values", "value_range"]


@dataclass(frozen=True)
class ValueRange:
    """The largest size of a value in the streams, and where it stands; NaN where a pixel is missing."""

    largest: float
    asset: int


def value_range(sample: Sample) -> ValueRange:
    """One pass over the streams."""
    sizes = np.concatenate(over_blocks(_largest_of, sample))
    missing = np.flatnonzero(~np.isfinite(sizes))
    place = int(missing[0] if missing.size else np.argmax(sizes))
    return ValueRange(float(sizes[place]), place)


def _largest_of(block: Block) -> NDArray[np.float64]:
    """Of each asset."""
    xp = array_namespace(block.streams)
    axes = tuple(range(1, len(block.shape)))
    high, low = xp.max(block.streams, axis=axes), xp.min(block.streams, axis=axes)
    return np.maximum(to_host(high).astype(np.float64), -to_host(low).astype(np.float64))


def check_layout(
    name: str, fleet: Fleet, agreement: Agreement, *, value_unit: str | None = None, time_unit: str | None = None
) -> None:
    """Raise where the streams' shape, dtype, image times or units are not what was agreed."""
    if fleet.is_ragged:
        raise AgreementError(
            f"{name}: the fleet's streams have {int(fleet.lengths.min())} to {int(fleet.lengths.max())} images, and "
            f"{agreement.shape[-1]} were agreed for all: fleet.prefix({agreement.shape[-1]}) keeps the first ones."
        )
    _compare(name, "streams of shape", fleet.stream_shape, agreement.shape, "crop or resample them, or agree anew.")
    if agreement.dtype is not None:
        _compare(name, "streams of dtype", str(fleet.dtype), agreement.dtype, "convert them, or agree anew.")
    _check_times(name, fleet, agreement)
    units = (("values in", value_unit, agreement.value_unit), ("ages in", time_unit, agreement.time_unit))
    for what, own, agreed in units:
        if own is not None and agreed is not None:
            _compare(name, what, own, agreed, "convert them.")


def check_values(name: str, fleet: Fleet, values: ValueRange, agreement: Agreement) -> None:
    """Raise where a pixel is missing, or beyond the agreed largest value."""
    asset = f"asset {str(fleet.ids[values.asset])!r}"
    if np.isnan(values.largest):
        raise AgreementError(
            f"{name}: {asset} has missing pixels (NaN). Fill them first (fm.complete will, when it is there), or leave "
            "the asset out."
        )
    if not values.largest <= agreement.largest_value:
        raise AgreementError(
            f"{name}: {asset} has a value of size {values.largest:g}, and at most {agreement.largest_value:g} was "
            "agreed: check its unit, leave it out, or agree anew on a larger value."
        )


def _check_times(name: str, fleet: Fleet, agreement: Agreement) -> None:
    if agreement.times is None:
        return
    if isinstance(fleet.times, list):
        raise AgreementError(
            f"{name}: each asset has image times of its own, and one vector was agreed: fleet.at(times) gives it."
        )
    own, agreed = [float(age) for age in fleet.times], list(agreement.times)
    _compare(name, "images at ages", own, agreed, "fleet.at(times) reads the streams off at the agreed ages.")


def _compare(name: str, what: str, own: object, agreed: object, way_out: str) -> None:
    if own != agreed:
        raise AgreementError(f"{name} has {what} {own}, and {agreed} was agreed: {way_out}")
