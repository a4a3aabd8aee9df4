"""All parties in one process: messages go from hand to hand, and all members' streams through one pool of workers.

One thread a member would leave cores idle behind the largest. Time is counted, not waited for: where nobody has
anything to say, the clock goes on to the coordinator's next deadline. So a silent member costs no time, and nothing
can hang.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

from fedmpca.protocol.coordinator import RETRIES, Coordinator
from fedmpca.protocol.member import Member, Work
from fedmpca.studies.sample import Sample
from fedmpca.studies.workers import Progress, answers, side_by_side

__all__ = ["COORDINATOR", "Faults", "no_faults", "run_session"]

COORDINATOR = -1
"""The coordinator's address here; members have their numbers."""

Faults = Callable[[int, int, bytes], list[tuple[float, bytes]]]
"""Given sender, receiver and message: what arrives, and after how many seconds. Nothing, once, twice, late, damaged."""

LARGE_BYTES = 2**18
LARGE_ENTRIES = 2**13
"""Messages and vectors from which threads are worth their while."""

R = TypeVar("R")
Mail = tuple[float, int, int, int, bytes]


def no_faults(sender: int, receiver: int, text: bytes) -> list[tuple[float, bytes]]:
    """Every message arrives as it was sent, at once."""
    return [(0.0, text)]


def run_session(
    coordinator: Coordinator,
    members: Sequence[Member],
    samples: Sequence[Sample],
    *,
    faults: Faults = no_faults,
    progress: Progress | None = None,
) -> None:
    """Carry messages until the session has ended. How it ended is in the coordinator's `result` or `error`."""
    post = _Post(faults)
    for number, text in coordinator.start(0.0).items():
        post.send(COORDINATOR, number, text)
    while not coordinator.done:
        if not post.mail:
            post.now += coordinator.agreement.wait_s / RETRIES
            for number, text in coordinator.tick(post.now).items():
                post.send(COORDINATOR, number, text)
            continue
        to_members, to_coordinator = post.due()
        for number, reply in _replies(to_members, members, samples, progress):
            post.send(number, COORDINATOR, reply)
        for number, text in to_coordinator:
            for receiver, request in coordinator.receive(number, text, post.now).items():
                post.send(COORDINATOR, receiver, request)
    for number, text in post.farewells():
        members[number].receive(text)


def _replies(
    requests: Sequence[tuple[int, bytes]],
    members: Sequence[Member],
    samples: Sequence[Sample],
    progress: Progress | None,
) -> list[tuple[int, bytes]]:
    """What members say to these requests; what several are asked alike is computed for all of them together."""
    replies: list[tuple[int, bytes]] = []
    asked: dict[bytes, list[tuple[int, Work]]] = {}
    for number, said in _heard(requests, members):
        if isinstance(said, Work):
            asked.setdefault(said.text, []).append((number, said))
        elif said is not None:
            replies.append((number, said))
    for works in asked.values():
        found = answers(works[0][1].query, [samples[number] for number, _ in works], progress)
        jobs = [
            (lambda work=work, answer=answer: work.finish(answer))
            for (_, work), answer in zip(works, found, strict=True)
        ]
        is_large = sum(part.size for part in found[0]) >= LARGE_ENTRIES
        made = zip([number for number, _ in works], _done(jobs, is_large=is_large), strict=True)
        replies += [(number, reply) for number, reply in made if reply is not None]
    return replies


def _heard(requests: Sequence[tuple[int, bytes]], members: Sequence[Member]) -> list[tuple[int, bytes | Work | None]]:
    """What each member makes of its requests: members side by side, one member's requests in their order."""
    texts: dict[int, list[bytes]] = {}
    for number, text in requests:
        texts.setdefault(number, []).append(text)
    jobs = [(lambda number=number: [members[number].receive(text) for text in texts[number]]) for number in texts]
    is_large = max(map(len, (text for _, text in requests)), default=0) >= LARGE_BYTES
    heard = zip(texts, _done(jobs, is_large=is_large), strict=True)
    return [(number, said) for number, several in heard for said in several]


def _done(jobs: Sequence[Callable[[], R]], *, is_large: bool) -> list[R]:
    """What the jobs return. Small ones take less than handing them to threads."""
    return side_by_side(jobs) if is_large else [job() for job in jobs]


class _Post:
    """Messages on their way, by the time of their arrival."""

    def __init__(self, faults: Faults) -> None:
        self.now = 0.0
        self.mail: list[Mail] = []
        self._faults = faults
        self._count = itertools.count()

    def send(self, sender: int, receiver: int, text: bytes) -> None:
        for delay, arrives in self._faults(sender, receiver, text):
            heapq.heappush(self.mail, (self.now + delay, next(self._count), sender, receiver, arrives))

    def due(self) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
        """Everything that arrives next: (member, request), and (member, reply) for the coordinator."""
        self.now = max(self.now, self.mail[0][0])
        to_members, to_coordinator = [], []
        while self.mail and self.mail[0][0] <= self.now:
            _, _, sender, receiver, text = heapq.heappop(self.mail)
            if receiver == COORDINATOR:
                to_coordinator.append((sender, text))
            else:
                to_members.append((receiver, text))
        return to_members, to_coordinator

    def farewells(self) -> list[tuple[int, bytes]]:
        """What members still hear after the session has ended."""
        return [(receiver, text) for _, _, _, receiver, text in sorted(self.mail) if receiver != COORDINATOR]
