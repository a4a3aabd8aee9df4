"""Who computes answers in this process: one pool of threads for the blocks of all samples, so that no core is idle.

Blocks are joined in their order, in groups that depend on their number alone. So the same input gives the same bits,
however many threads there are and in whatever order they finish.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from fedmpca.studies.queries import Answer, Query, join
from fedmpca.studies.sample import Block, Sample

__all__ = ["Progress", "answers", "one_blas_thread", "over_blocks", "side_by_side"]

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[str, int, int], None]
"""Called with what is being asked, parts done, parts in all."""

N_GROUPS = 32
"""Groups that a sample's blocks are joined in: enough to keep cores even; fewer where answers are large."""


def answers(query: Query, samples: Sequence[Sample], progress: Progress | None = None) -> list[Answer]:
    """Each sample's answer to the query."""
    groups = [(number, group) for number, sample in enumerate(samples) for group in _groups(query, sample)]
    found: list[Answer | None] = [None] * len(samples)
    parts = _in_order(lambda item: _answer(query, samples[item[0]], item[1]), groups, _threads(samples))
    for done, ((number, _), part) in enumerate(zip(groups, parts, strict=True), start=1):
        so_far = found[number]
        found[number] = part if so_far is None else join(so_far, part, into_a=True)
        if progress is not None:
            progress(query.title, done, len(groups))
    return [answer for answer in found if answer is not None]


def over_blocks(function: Callable[[Block], R], sample: Sample) -> list[R]:
    """The function's value for each block of a sample, in order."""
    with one_blas_thread():
        return list(
            _in_order(lambda number: function(sample.block(number)), range(sample.n_blocks), _threads([sample]))
        )


def side_by_side(jobs: Sequence[Callable[[], R]]) -> list[R]:
    """What the jobs return, in their order, computed on all cores."""
    return list(_in_order(lambda job: job(), jobs, _cores()))


def _answer(query: Query, sample: Sample, blocks: range) -> Answer:
    """The blocks' answers joined in order, in arrays of our own: large ones are not made anew for each block."""
    first, *others = blocks
    total = tuple(np.array(part, np.float64) for part in query.answer(sample.block(first)))
    for number in others:
        join(total, query.answer(sample.block(number)), into_a=True)
    return total


def _groups(query: Query, sample: Sample) -> list[range]:
    """Runs of blocks that are answered one after the other; their answers together take an eighth of the streams."""
    n_answer = 8 * sum(query.parts(sample.shape[1:]))
    n_groups = min(N_GROUPS, max(1, sample.n_bytes // 8 // n_answer))
    size = -(-sample.n_blocks // n_groups)
    return [range(start, min(start + size, sample.n_blocks)) for start in range(0, sample.n_blocks, size)]


def _threads(samples: Sequence[Sample]) -> int:
    """One a core that this process may use; an accelerator orders its own work."""
    if not all(sample.on_host for sample in samples):
        return 1
    return _cores()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_order(function: Callable[[T], R], items: Sequence[T], threads: int) -> Iterator[R]:
    """Results in the order of the items. Few more than `threads` are there at a time: they can be large."""
    if threads == 1 or len(items) == 1:
        yield from map(function, items)
        return
    pool = _pool.of(threads)
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)  # what had begun uses the caller's arrays


class _Pool:
    """The threads, started once: a round of a small study takes less than starting them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads = 0
        self._executor: ThreadPoolExecutor | None = None

    def of(self, threads: int) -> ThreadPoolExecutor:
        """The executor with this many threads."""
        with self._lock:
            if self._executor is None or self._threads != threads:
                self._executor = ThreadPoolExecutor(threads, thread_name_prefix="fedmpca")
                self._threads = threads
            return self._executor

    def forget(self) -> None:
        """Threads do not come along when a process forks."""
        self.__init__()  # type: ignore[misc]


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)


class _BlasThreads:
    """Holds the BLAS libraries at one thread each while any fit runs: we use the cores ourselves."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._controller: ThreadpoolController | None = None

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.__exit__(None, None, None)


_blas_threads = _BlasThreads()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While it holds, BLAS uses one thread: blocks go to a thread each, and the bits do not depend on how many."""
    _blas_threads.enter()
    try:
        yield
    finally:
        _blas_threads.leave()
