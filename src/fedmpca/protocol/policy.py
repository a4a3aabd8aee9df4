"""What a member insists on by itself, and the fixed codes by which it says so.

A code never depends on the data of a fleet that meets the agreement: who refuses what would be an oracle. The whole
reason is read at home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedmpca.errors import AgreementError, DataError, FedMPCAError, ProtocolError, RefusedError
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.questions import CATALOGUE

__all__ = ["REFUSALS", "EndedError", "Policy"]

REFUSALS = {
    "protocol": "a message was not what the protocol allows: compare versions, agreements and keys with the member",
    "query": "its policy does not allow this query: leave it out of the study, or ask the member to allow it",
    "rounds": "its policy does not allow so many rounds: agree on fewer sweeps, or ask the member to allow more",
    "answer": "it could not answer from its data: the member reads the reason at home",
    "ended": "the session had ended for another reason",
    "silent": "another member was silent for longer than agreed: begin anew when all are there",
}
"""Code -> what it means, and what the person at the coordinator can do."""


class QueryRefusedError(RefusedError):
    """The member's policy does not allow this query."""


class EndedError(RefusedError):
    """The coordinator ended the session, for a reason that lies elsewhere."""


class RoundsRefusedError(RefusedError):
    """The member's policy does not allow so many rounds."""


@dataclass(frozen=True)
class Policy:
    """A member's own rules. They only ever add to the agreement's."""

    queries: frozenset[str] = frozenset(CATALOGUE)
    smallest_cohort: int = 2
    """Beside the three of every agreement that does not say `allow_pair`."""
    smallest_fleet: int = 1
    most_rounds: int = 10_000

    def check_agreement(
        self, agreement: Agreement, key: bytes, name: str, n_assets: int, *, in_process: bool = False
    ) -> None:
        """Before anything is sent: whether this member may take part at all. In one process all have one owner."""
        in_parts = agreement.folds is not None or agreement.lengths is not None
        if in_parts and not agreement.allow_parts and not in_process:
            raise AgreementError(
                "The agreement has folds or lengths. Their sums are over parts of the assets, and the difference of "
                "two can be a single asset; no guard against that is there yet. Leave them out, or agree on "
                "allow_parts."
            )
        if name not in agreement.members:
            raise AgreementError(
                f"The agreement is between {', '.join(agreement.members)}, and {name} is none of them: join under the "
                "name that was agreed."
            )
        if agreement.members[name] != key.hex():
            raise AgreementError(
                f"The agreement has another key for {name} than this identity's: agree anew, or use the other key."
            )
        if agreement.n_members < self.smallest_cohort:
            raise AgreementError(
                f"The agreement has {agreement.n_members} members, and the policy of {name} wants "
                f"{self.smallest_cohort}: agree with more."
            )
        least = max(agreement.smallest_fleet, self.smallest_fleet)
        if n_assets < least:
            raise AgreementError(
                f"{name} has {n_assets} assets, and the smallest fleet allowed is {least}: a sum over few assets tells "
                "too much of each. Join with more."
            )
        if n_assets > agreement.most_assets:
            raise AgreementError(f"{name} has {n_assets} assets; at most {agreement.most_assets} were agreed.")

    def check_query(self, query: Any) -> None:
        """Whether this query is allowed."""
        if type(query).__name__ not in self.queries:
            raise QueryRefusedError(f"The coordinator asked {type(query).__name__}, which the policy does not allow.")

    def check_round(self, round_: int, agreement: Agreement) -> None:
        """Whether one more round is allowed."""
        most = min(self.most_rounds, agreement.most_rounds)
        if round_ > most:
            raise RoundsRefusedError(f"The coordinator asked for round {round_}, and at most {most} are allowed.")

    def code_of(self, error: FedMPCAError) -> str:
        """What may be told of a reason."""
        kinds: tuple[tuple[type[FedMPCAError], str], ...] = (
            (QueryRefusedError, "query"),
            (RoundsRefusedError, "rounds"),
            (RefusedError, "ended"),
            (ProtocolError, "protocol"),
            (DataError, "answer"),
        )
        return next((code for kind, code in kinds if isinstance(error, kind)), "answer")
