"""What a session ends with, as bytes: the projection, as the coordinator computed it and everybody uses it."""

from __future__ import annotations

import msgspec

from fedmpca.errors import ProtocolError
from fedmpca.protocol.messages import UNREADABLE, Numbers
from fedmpca.protocol.numbers import array_of, numbers_of
from fedmpca.studies.mpca import Projection

__all__ = ["projection_bytes", "read_projection"]


class _Projection(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    n_assets: int
    mean: Numbers
    factors: tuple[Numbers, ...]
    spectra: tuple[Numbers, ...]
    captured: tuple[float, ...]
    total_scatter: float
    converged: bool


def projection_bytes(found: Projection) -> bytes:
    """The projection as it travels."""
    return msgspec.msgpack.encode(
        _Projection(
            found.n_assets,
            numbers_of(found.mean),
            tuple(map(numbers_of, found.factors)),
            tuple(map(numbers_of, found.spectra)),
            found.captured,
            found.total_scatter,
            found.converged,
        )
    )


def read_projection(text: bytes, shape: tuple[int, ...]) -> Projection:
    """The projection of streams of this shape."""
    who = "The coordinator"
    try:
        found = msgspec.msgpack.decode(text, type=_Projection)
    except UNREADABLE as error:
        raise ProtocolError(f"{who} sent a result that cannot be read.") from error
    if len(found.factors) != len(shape) or len(found.spectra) != len(shape):
        raise ProtocolError(f"{who} sent a result of streams with another number of modes.")
    return Projection(
        n_assets=found.n_assets,
        mean=array_of(found.mean, shape, who),
        factors=tuple(array_of(part, (length, None), who) for part, length in zip(found.factors, shape, strict=True)),
        spectra=tuple(array_of(part, (length,), who) for part, length in zip(found.spectra, shape, strict=True)),
        captured=found.captured,
        total_scatter=found.total_scatter,
        converged=found.converged,
    )
