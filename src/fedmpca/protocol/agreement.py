"""The agreement: one document that every party holds, with everything public about a session. Its hash stands for it.

A TOML file. The hash is over the file's bytes, and each member's signed hello carries it, so a session begins only
where all hold the same bytes. Unknown keys are refused: what a party does not understand it must not agree to.
Everything that an ordinary federation need not think about has a default, and is not in the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

from fedmpca.crypto.keys import hash_of
from fedmpca.errors import AgreementError
from fedmpca.studies.queries import Bounds

__all__ = ["FAMILIES", "PROFILES", "Agreement", "write_agreement"]

PROFILES = ("secure", "paper", "plain")
FAMILIES = ("normal", "sev", "logistic", "lognormal", "weibull", "loglogistic")


@dataclass(frozen=True)
class Agreement:
    """What the parties agreed on. Members are numbered by the order of their keys; the coordinator comes after them."""

    coordinator: str
    """Its Ed25519 public key, in hexadecimal digits, as those of the members."""
    members: Mapping[str, str]
    """Names and keys of all members."""
    shape: tuple[int, ...]
    """Of every stream: (mode 0, ..., mode N-1)."""
    profile: str = "secure"
    times: tuple[float, ...] | None = None
    """Ages of the images, where the fleets declare a clock; None: images are numbered."""
    dtype: str | None = None
    """Numbers in the streams, such as "float32"; None: any."""
    value_unit: str | None = None
    time_unit: str | None = None
    ranks: tuple[int, ...] | None = None
    variance_kept: float = 0.97
    tol: float = 1e-6
    max_sweeps: int = 50
    families: tuple[str, ...] = ("lognormal",)
    """Families of failure times that may be regressed."""
    alpha: float = 0.0
    """Ridge of that regression."""
    folds: int | None = None
    """Of a cross-validation; None: there is none."""
    lengths: tuple[int, ...] | None = None
    """Images after which lives are predicted; None: after all of them."""
    largest_value: float = 1e6
    """V: no pixel of anyone is larger in size."""
    most_assets: int = 10_000
    """A: no member has more."""
    longest_life: float = 1e6
    smallest_fleet: int = 2
    """No member takes part with fewer assets."""
    most_rounds: int = 1000
    wait_s: float = 300.0
    """How long a silent member is awaited before the session ends."""
    allow_pair: bool = False
    """Whether two members may join: each then learns the other's sums, by subtracting its own."""
    allow_parts: bool = False
    """Whether members answer for folds and lengths, whose sums are over parts of the assets, without a guard."""
    text: bytes = field(default=b"", compare=False, repr=False)
    """The file's bytes, which the hash is over."""

    @classmethod
    def read(cls, text: bytes) -> Agreement:
        """The agreement in a file's bytes; the error says which line of it is wrong."""
        try:
            found = tomllib.loads(text.decode("utf-8"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise AgreementError(f"The agreement cannot be read as TOML: {error}.") from error
        known = {entry.name: entry for entry in fields(cls) if entry.name != "text"}
        unknown = sorted(set(found) - set(known))
        if unknown:
            raise AgreementError(
                f"The agreement has {unknown[0]!r}, which this version does not know. Nobody should sign what they do "
                "not understand: upgrade fedmpca, or take the line out and agree anew."
            )
        missing = [name for name, entry in known.items() if entry.default is MISSING and name not in found]
        if missing:
            raise AgreementError(f"The agreement has no {missing[0]!r}: every agreement says this.")
        agreement = cls(**{name: _frozen(value) for name, value in found.items()}, text=text)
        agreement.check()
        return agreement

    @cached_property
    def hash(self) -> bytes:
        """Stands for the agreement in every hello."""
        return hash_of("agreement", self.text)

    @cached_property
    def roster(self) -> list[str]:
        """Names of the members by number."""
        return sorted(self.members, key=lambda name: self.members[name])

    @property
    def n_members(self) -> int:
        """n, always this: nothing is ever summed over fewer."""
        return len(self.members)

    def key(self, number: int) -> bytes:
        """Public key of a party by number."""
        roster = self.roster
        return bytes.fromhex(self.members[roster[number]] if number < len(roster) else self.coordinator)

    @property
    def bounds(self) -> Bounds:
        """What bounds every answer."""
        return Bounds(self.n_members, self.most_assets, self.largest_value)

    def check(self) -> None:
        """Refuse what no session could be held under."""
        if not isinstance(self.members, Mapping) or not all(isinstance(k, str) and k for k in self.members):
            raise AgreementError("The agreement's members are no table of names and public keys: give one.")
        keys = [self.coordinator, *self.members.values()]
        if not all(map(_is_key, keys)):
            wrong = next(key for key in keys if not _is_key(key))
            raise AgreementError(f"The agreement has the key {wrong!r}: a public key is 64 small hexadecimal digits.")
        if len(set(keys)) != len(keys):
            raise AgreementError("Two parties of the agreement have the same public key: each has one of its own.")
        for name, (holds, way_out) in self._rules().items():
            if not holds:
                raise AgreementError(f"The agreement's {name} is {getattr(self, name)!r}: {way_out}")
        if self.n_members < (2 if self.allow_pair else 3):
            raise AgreementError(
                f"The agreement has {self.n_members} members, which are too few: three are needed, and two only where "
                "allow_pair says that each may learn the other's sums."
            )

    def _rules(self) -> dict[str, tuple[bool, str]]:
        """What holds of each entry, and what to do where it does not."""
        shape = isinstance(self.shape, tuple) and len(self.shape) > 0 and all(_whole(n, 1) for n in self.shape)
        ranks = shape and (
            self.ranks is None
            or (
                isinstance(self.ranks, tuple)
                and len(self.ranks) == len(self.shape)
                and all(_whole(p, 1, n) for p, n in zip(self.ranks, self.shape, strict=True))
            )
        )
        lengths = shape and (
            self.lengths is None
            or (
                isinstance(self.lengths, tuple)
                and len(self.lengths) > 0
                and all(_whole(n, 1, self.shape[-1]) for n in self.lengths)
            )
        )
        families = isinstance(self.families, tuple) and len(self.families) > 0 and set(self.families) <= set(FAMILIES)
        times = shape and (self.times is None or _increasing(self.times, self.shape[-1]))
        unit = "give a positive number, in a unit in which squares of pixels are neither 0 nor infinite."
        flag, text, positive, count = "say true or false.", "give a text.", "give a positive number.", "give 1 or more."
        return {
            "shape": (shape, "give the lengths of a stream's modes, as in [21, 21, 10]."),
            "profile": (self.profile in PROFILES, f"it is one of {', '.join(PROFILES)}."),
            "times": (times, "give one increasing age for each image."),
            "ranks": (ranks, "give one rank for each mode, from 1 to its length."),
            "variance_kept": (_number(self.variance_kept) and 0 < self.variance_kept <= 1, "above 0 and at most 1."),
            "tol": (_number(self.tol) and self.tol >= 0, "0 or more."),
            "families": (families, f"name one or more of {', '.join(FAMILIES)}."),
            "alpha": (_number(self.alpha) and self.alpha >= 0, "0 or more."),
            "folds": (self.folds is None or _whole(self.folds, 2), "give 2 or more."),
            "lengths": (lengths, "give numbers of images, from 1 to the length of a stream."),
            "dtype": (self.dtype is None or isinstance(self.dtype, str), "give a NumPy name, such as float32."),
            "value_unit": (self.value_unit is None or isinstance(self.value_unit, str), text),
            "time_unit": (self.time_unit is None or isinstance(self.time_unit, str), text),
            "allow_pair": (isinstance(self.allow_pair, bool), flag),
            "allow_parts": (isinstance(self.allow_parts, bool), flag),
            "largest_value": (_number(self.largest_value) and 1e-140 <= self.largest_value <= 1e140, unit),
            "longest_life": (_number(self.longest_life) and self.longest_life > 0, positive),
            "wait_s": (_number(self.wait_s) and self.wait_s > 0, positive),
            "max_sweeps": (_whole(self.max_sweeps, 1), count),
            "most_assets": (_whole(self.most_assets, 1), count),
            "smallest_fleet": (_whole(self.smallest_fleet, 1), count),
            "most_rounds": (_whole(self.most_rounds, 1), count),
        }


def write_agreement(**entries: Any) -> bytes:
    """The bytes of an agreement with these entries, read back and checked. Defaults are left out."""
    lines, tables = [], []
    for name, value in entries.items():
        if isinstance(value, Mapping):
            tables += ["", f"[{name}]", *(f"{_quoted(key)} = {_toml(entry)}" for key, entry in value.items())]
        elif value is not None:
            lines.append(f"{name} = {_toml(value)}")
    text = "\n".join(lines + tables + [""]).encode("utf-8")
    Agreement.read(text)
    return text


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def _quoted(text: str) -> str:
    if any(character < " " or character in '"\\\x7f' for character in text):
        raise AgreementError(f"{text!r} cannot stand in an agreement: use no quotes, backslashes or line ends.")
    return f'"{text}"'


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _whole(value: Any, least: int, most: int = 2**40) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _increasing(times: Any, length: int) -> bool:
    if not isinstance(times, tuple) or len(times) != length or not all(map(_number, times)):
        return False
    return all(a < b for a, b in pairwise(times))


def _is_key(text: Any) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= set("0123456789abcdef")
