"""Queries as bytes, and what a member makes sure of before it answers one.

An array that an earlier query of the session carried is named by its hash, so that the mean travels once. Every check
is of things that all members see alike, so a refusal singles nobody out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields
from math import prod
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fedmpca.crypto.keys import HASH_BYTES
from fedmpca.errors import ProtocolError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.messages import UNREADABLE
from fedmpca.studies.queries import Captured, InitialScatters, ModeScatter, Query, StreamSums

__all__ = ["CATALOGUE", "Arrays", "check_query", "query_bytes", "read_query"]

CATALOGUE: dict[str, type[Any]] = {kind.__name__: kind for kind in (StreamSums, InitialScatters, ModeScatter, Captured)}
"""Every query that a session may ask, by its name on the wire. `studies/queries.py` is the page to read."""

ORTHONORMAL = 1e-12
MOST_AXES = 64
"""NumPy's."""
Floats = NDArray[np.float64]


class Arrays:
    """Arrays that the session's queries carried, by hash. They are kept as they are: nobody writes to them."""

    def __init__(self) -> None:
        self._by_name: dict[bytes, Floats] = {}
        self._names: dict[int, bytes] = {}
        self.sound: set[tuple[str, int]] = set()
        """Roles in which arrays (by identity: they are kept) were found as agreed. They need not be looked at again."""

    def name_of(self, array: Floats) -> bytes | None:
        """The hash of an array that this very object was added as: it need not be computed again."""
        return self._names.get(id(array))

    def __contains__(self, name: bytes) -> bool:
        return name in self._by_name

    def __getitem__(self, name: bytes) -> Floats:
        return self._by_name[name]

    def add(self, name: bytes, array: Floats) -> Floats:
        """Remember an array; of two that are equal the first. None is let go: another would get its identity."""
        kept = self._by_name.setdefault(name, array)
        self._names[id(kept)] = name
        return kept


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="new"):
    """An array that comes for the first time: float64, little-endian, C order."""

    shape: tuple[int, ...]
    data: bytes


class Again(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="again"):
    """An array that came before."""

    hash: bytes


Value = None | bool | int | Numbers | Again | tuple[int | Numbers | Again, ...]


class Question(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A query: its name, and its fields in the order of its definition."""

    name: str
    values: tuple[Value, ...]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Question)


def query_bytes(query: Query, known: Arrays) -> bytes:
    """The query as it travels. What it carries for the first time joins `known`."""
    values = tuple(_written(getattr(query, entry.name), known) for entry in fields(query))  # type: ignore[arg-type]
    return _encoder.encode(Question(type(query).__name__, values))


def _written(value: Any, known: Arrays) -> Any:
    if isinstance(value, tuple):
        return tuple(_written(entry, known) for entry in value)
    if not isinstance(value, np.ndarray):
        return value
    if (name := known.name_of(value)) is not None:
        return Again(name)
    data = np.ascontiguousarray(value, "<f8").tobytes()
    if (name := _name(value.shape, data)) in known:
        return Again(name)
    known.add(name, value)
    return Numbers(value.shape, data)


def _name(shape: Iterable[int], data: bytes) -> bytes:
    name = hashlib.sha256(repr(tuple(shape)).encode("ascii"))
    name.update(data)
    return name.digest()


def read_query(text: bytes, known: Arrays) -> Any:
    """The query behind the bytes. What it carries for the first time joins `known`."""
    try:
        question = _decoder.decode(text)
    except UNREADABLE as error:
        raise ProtocolError(f"A query cannot be read: {error}.") from error
    kind = CATALOGUE.get(question.name)
    if kind is None:
        raise ProtocolError(f"{question.name[:40]!r} is no query of the catalogue.")
    names = [entry.name for entry in fields(kind)]
    if len(question.values) != len(names):
        raise ProtocolError(f"A {question.name} came with {len(question.values)} values, and has {len(names)}.")
    return kind(**dict(zip(names, (_read(value, known) for value in question.values), strict=True)))


def _read(value: Any, known: Arrays) -> Any:
    if isinstance(value, tuple):
        return tuple(_read(entry, known) for entry in value)
    if isinstance(value, Again):
        if len(value.hash) != HASH_BYTES or value.hash not in known:
            raise ProtocolError("A query names an array that no query of this session carried.")
        return known[value.hash]
    if not isinstance(value, Numbers):
        return value
    if not 1 <= len(value.shape) <= MOST_AXES or min(value.shape) < 1 or prod(value.shape) * 8 != len(value.data):
        raise ProtocolError(f"A query has {len(value.data)} bytes for an array of shape {value.shape}.")
    array = np.frombuffer(value.data, "<f8").reshape(value.shape)
    return known.add(_name(value.shape, value.data), array)


def check_query(query: Any, agreement: Agreement, known: Arrays | None = None) -> None:
    """Refuse a query whose values are not what the agreement allows."""
    sound = set() if known is None else known.sound
    if isinstance(query, StreamSums):
        lengths = isinstance(query.shape, tuple) and all(type(length) is int for length in query.shape)
        _need(lengths and query.shape == agreement.shape, "another stream shape than the agreed one")
        return
    if ("mean", id(query.mean)) not in sound:
        _check_array(query.mean, agreement.shape, "mean")
        largest = max(float(query.mean.max()), -float(query.mean.min()))
        _need(largest <= agreement.largest_value, "a mean beyond the agreed largest value")
        sound.add(("mean", id(query.mean)))
    if isinstance(query, ModeScatter):
        modes = range(len(agreement.shape))
        _need(type(query.mode) is int and query.mode in modes, "a mode that streams do not have")
        _need(type(query.sweep) is int and 1 <= query.sweep <= agreement.max_sweeps, "a sweep beyond the agreed ones")
        is_other = type(query.first) is int and query.first in modes and query.first != query.mode
        _need(is_other if len(modes) > 1 else query.first is None, "a mode to contract first that cannot be")
        _need(type(query.centre_first) is bool, "a way of centring that there is not")
    if isinstance(query, ModeScatter | Captured):
        _check_factors(query.factors, agreement, sound)


def _check_factors(factors: Any, agreement: Agreement, sound: set[tuple[str, int]]) -> None:
    n_modes = len(agreement.shape)
    _need(isinstance(factors, tuple) and len(factors) == n_modes, "another number of factors than modes")
    for mode, factor in enumerate(factors):
        if (f"factor {mode}", id(factor)) in sound:
            continue
        rank = factor.shape[-1] if isinstance(factor, np.ndarray) and factor.ndim == 2 else 0
        agreed = range(1, agreement.shape[mode] + 1) if agreement.ranks is None else [agreement.ranks[mode]]
        _need(rank in agreed, f"a factor of mode {mode} with another rank than agreed")
        _check_array(factor, (agreement.shape[mode], rank), f"factor of mode {mode}")
        _need(float(np.abs(factor).max()) <= 1 + ORTHONORMAL, f"a factor of mode {mode} that is not orthonormal")
        off = np.abs(factor.T @ factor - np.eye(rank)).max()
        _need(bool(off <= ORTHONORMAL), f"a factor of mode {mode} that is not orthonormal")
        sound.add((f"factor {mode}", id(factor)))


def _check_array(array: Any, shape: tuple[int, ...], name: str) -> None:
    _need(isinstance(array, np.ndarray) and array.shape == shape, f"a {name} of another shape than the agreed one")
    _need(bool(np.isfinite(array.max()) and np.isfinite(array.min())), f"a {name} with values that are not finite")


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise ProtocolError(f"A query asks with {what}.")
