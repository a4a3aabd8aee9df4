"""How large a message may be: computed from the agreement, so that nobody is made to hold more than was agreed."""

from __future__ import annotations

from math import prod

from fedmpca.crypto.ring import ENTRY_BYTES
from fedmpca.protocol.agreement import Agreement
from fedmpca.protocol.session import HELLO_BYTES

__all__ = ["largest_message"]


def largest_message(agreement: Agreement) -> int:
    """The largest total, the largest query, the result, everyone's hello or box, and the envelopes."""
    cells = prod(agreement.shape)
    squares = sum(length * length for length in agreement.shape)
    vector = ENTRY_BYTES * (cells + squares + len(agreement.shape) + 2)
    query = 8 * (2 * cells + 3 * squares) + 4096
    boxes = agreement.n_members * (8 * (cells + 2 * squares) + 4096) if agreement.profile == "paper" else 0
    return 2 * vector + query + boxes + agreement.n_members * HELLO_BYTES + 100 * agreement.max_sweeps + 4096
