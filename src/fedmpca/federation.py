"""A federation as a user holds it: members with their fleets, and a way of joining. Here all are in one process.

Imports transports, protocol, fleets and studies. `MPCA.fit` takes a federation as it takes a fleet.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Self

import pandas as pd

from fedmpca.crypto.keys import Entropy, Identity
from fedmpca.errors import AgreementError, DataError
from fedmpca.fleets import Fleet
from fedmpca.protocol.agreement import PROFILES, Agreement, write_agreement
from fedmpca.protocol.coordinator import Coordinator
from fedmpca.protocol.disclosures import Disclosure
from fedmpca.protocol.enrolment import check_layout, check_values, value_range
from fedmpca.protocol.member import Member
from fedmpca.protocol.policy import EndedError
from fedmpca.studies.sample import Sample
from fedmpca.studies.study import Study
from fedmpca.studies.workers import Progress, one_blas_thread
from fedmpca.transports.local import Faults, no_faults, run_session

__all__ = ["Federation"]


class Federation:
    """Members whose fleets are learnt from together, though no party sees another's.

    Made by `Federation.in_process`. It may be fitted many times; each fit is one session, under an agreement made from
    the estimator's parameters.

    Attributes
    ----------
    names : list of str
    profile : {"secure", "paper", "plain"}
    disclosures : DataFrame
        Of the last fit: a row a message, with who could read it and what it told them.

    Examples
    --------
    >>> import fedmpca as fm
    >>> fleet = fm.simulate_fleet(60, rng=0)
    >>> parts = {"user-1": fleet[:30], "user-2": fleet[30:50], "user-3": fleet[50:]}
    >>> fm.MPCA(ranks=(2, 2, 2)).fit(fm.Federation.in_process(parts)).n_assets_
    60
    """

    def __init__(self, fleets: Mapping[str, Fleet], agreed: dict[str, Any], given: Agreement | None) -> None:
        self._fleets = dict(fleets)
        self._agreed = agreed
        self._given = given
        self._record: list[Disclosure] = []
        self._samples: dict[str, Sample] = {}

    @classmethod
    def in_process(
        cls,
        fleets: Mapping[str, Fleet],
        profile: str = "secure",
        agreement: Agreement | bytes | None = None,
        allow_pair: bool = False,
    ) -> Self:
        """All members in one process, with one owner.

        Parameters
        ----------
        fleets : mapping of names to fleets
            At least three; two with `allow_pair`.
        profile : {"secure", "paper", "plain"}
            "secure": sums that nobody sees a summand of. "paper": the paper's own algorithms, which leak
            (`limitations-and-attacks` in the docs says what). "plain": sums without masks, for tests.
        agreement : Agreement or its bytes, optional
            Bounds and policies; without it they come from the fleets, and the smallest fleet is 1. What else it says
            has to be what a fit asks for.
        allow_pair : bool, default False
            Allow two members, each of which can then subtract its own sums from the totals.

        Raises
        ------
        AgreementError
            Where a fleet is not what was agreed. The message names the member, its value and the agreed one.
        """
        if profile not in PROFILES:
            raise DataError(f"profile={profile!r} is not known: it is one of {', '.join(PROFILES)}.")
        if not isinstance(fleets, Mapping) or not all(isinstance(fleet, Fleet) for fleet in fleets.values()):
            raise DataError("Give a federation's fleets as a mapping of names to Fleet.")
        least = 2 if allow_pair else 3
        if len(fleets) < least:
            raise AgreementError(
                f"{len(fleets)} members are too few for a federation: {least} are needed"
                + (
                    "."
                    if allow_pair
                    else ", for with two each would see the other's sums. allow_pair (--allow-pair) allows it."
                )
            )
        given = Agreement.read(agreement) if isinstance(agreement, bytes) else agreement
        federation = cls(fleets, _agreed(fleets, profile, given, allow_pair), given)
        federation._enrol()
        return federation

    def __len__(self) -> int:
        return len(self._fleets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fleets)

    def __repr__(self) -> str:
        assets = ", ".join(f"{name}: {len(fleet)}" for name, fleet in self._fleets.items())
        return f"Federation({assets}; profile={self.profile!r})"

    @property
    def names(self) -> list[str]:
        """The members' names."""
        return list(self._fleets)

    @property
    def profile(self) -> str:
        """The way of joining."""
        return str(self._agreed["profile"])

    @property
    def stream_shape(self) -> tuple[int, ...]:
        """The agreed shape of a stream."""
        return tuple(self._agreed["shape"])

    @property
    def disclosures(self) -> pd.DataFrame:
        """What the last fit told whom: a row a message."""
        columns = ["round", "query", "sender", "seen_by", "what", "n_bytes"]
        return pd.DataFrame([vars(row) for row in self._record], columns=columns)

    def transform(self, mpca: Any) -> Federation:
        """Each member's features, at home: a federation of feature fleets under the same profile."""
        features = {name: _features(mpca, fleet) for name, fleet in self._fleets.items()}
        return Federation.in_process(features, self.profile, allow_pair=len(features) == 2)

    def run(
        self,
        study: Study[Any],
        parameters: Mapping[str, Any],
        *,
        as_bytes: Callable[[Any], bytes] = lambda result: b"",
        faults: Faults = no_faults,
        progress: Progress | None = None,
        entropy: Entropy = secrets.token_bytes,
    ) -> Any:
        """The study's result over all members: one session, under an agreement with these parameters."""
        _check_parameters(parameters, self._given)
        identities = {name: Identity.new(entropy) for name in self._fleets}
        coordinator_identity = Identity.new(entropy)
        text = write_agreement(
            coordinator=coordinator_identity.public.hex(),
            **self._agreed,
            **parameters,
            members={name: identity.public.hex() for name, identity in identities.items()},
        )
        agreement = Agreement.read(text)
        members = [
            Member(agreement, name, identities[name], n_assets=len(fleet), entropy=entropy, in_process=True)
            for name, fleet in ((name, self._fleets[name]) for name in agreement.roster)
        ]
        coordinator = Coordinator(agreement, coordinator_identity, study, as_bytes=as_bytes)
        samples = [self._samples[name] for name in agreement.roster]
        with one_blas_thread():
            run_session(coordinator, members, samples, faults=faults, progress=progress)
        self._record = coordinator.disclosures
        if coordinator.error is not None:
            reasons = [m.reason for m in members if m.reason is not None and not isinstance(m.reason, EndedError)]
            raise coordinator.error from (reasons[0] if reasons else None)
        return coordinator.result

    def _enrol(self) -> None:
        """Each member compares its fleet with what was agreed. Values are looked at once, here."""
        draft = _draft(self._fleets, self._agreed)
        for name, fleet in self._fleets.items():
            check_layout(name, fleet, draft)
        self._samples = {
            name: Sample(fleet.streams, ids=fleet.ids, memory_limit=fleet.memory_limit)
            for name, fleet in self._fleets.items()
        }
        with one_blas_thread():
            ranges = {name: value_range(sample) for name, sample in self._samples.items()}
        if "largest_value" not in self._agreed:
            finite = [values.largest for values in ranges.values() if 0 < values.largest < float("inf")]
            self._agreed["largest_value"] = max(finite, default=1.0)
        agreement = _draft(self._fleets, self._agreed)
        for name, fleet in self._fleets.items():
            check_values(name, fleet, ranges[name], agreement)


CONSTANTS = (
    "times",
    "dtype",
    "value_unit",
    "time_unit",
    "largest_value",
    "most_assets",
    "longest_life",
    "smallest_fleet",
    "most_rounds",
    "wait_s",
)
"""What an agreement that is given says beside what the fit says."""


def _agreed(fleets: Mapping[str, Fleet], profile: str, given: Agreement | None, allow_pair: bool) -> dict[str, Any]:
    """The entries that every session's agreement has: of the one given, or made from the fleets."""
    if given is None:
        first = next(iter(fleets.values()))
        return {
            "profile": profile,
            "allow_pair": allow_pair,
            "shape": first.stream_shape,
            "most_assets": max(map(len, fleets.values())),
            "smallest_fleet": 1,
        }
    if set(given.members) != set(fleets):
        raise AgreementError(
            f"The agreement is between {', '.join(sorted(given.members))}, and fleets were given of "
            f"{', '.join(sorted(fleets))}: give one fleet for each member."
        )
    if given.profile != profile:
        raise AgreementError(
            f"The agreement says profile {given.profile!r}, and {profile!r} was asked for: give "
            f"profile={given.profile!r}."
        )
    entries = {name: getattr(given, name) for name in CONSTANTS}
    return {"profile": profile, "allow_pair": allow_pair and given.allow_pair, "shape": given.shape, **entries}


def _check_parameters(parameters: Mapping[str, Any], given: Agreement | None) -> None:
    """Refuse a fit that is not the one that was agreed, where the agreement says more than its defaults."""
    agreed = {entry.name: (getattr(given, entry.name), entry.default) for entry in fields(Agreement)} if given else {}
    for name, value in parameters.items():
        said, default = agreed.get(name, (None, None))
        if said not in (default, value):
            raise AgreementError(f"The agreement says {name} {said}, and the fit was asked for {value}: fit as agreed.")


def _draft(fleets: Mapping[str, Fleet], agreed: Mapping[str, Any]) -> Agreement:
    """An agreement to compare fleets with, before anybody has a key."""
    members = {name: f"{number:064x}" for number, name in enumerate(fleets, start=1)}
    return Agreement.read(write_agreement(coordinator="0" * 64, **agreed, members=members))


def _features(mpca: Any, fleet: Fleet) -> Fleet:
    """The fleet's features as a fleet: a table an asset, with what else is known about it."""
    flat = mpca.transform(fleet).reshape(len(fleet), -1)
    known = {name: getattr(fleet, name) for name in ("lives", "events", "ids", "upper", "entry", "covariates")}
    return Fleet(flat, **known)
