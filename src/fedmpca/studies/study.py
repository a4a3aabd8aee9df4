"""Running a study: ask its queries, tell it the totals, until it has its result. Who answers is the caller's affair."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from fedmpca.studies.queries import Answer, Query

__all__ = ["Study", "run", "watched"]

Result = TypeVar("Result")
Study = Generator[Query, Any, Result]
"""Yields queries, is sent what `Query.conclude` says of their totals, returns its result."""


def watched(study: Study[Result], watch: Callable[[Query, Any], None]) -> Study[Result]:
    """The same study, with somebody looking on: `watch` is told each query and what it came to."""
    try:
        query = next(study)
        while True:
            told = yield query
            watch(query, told)
            query = study.send(told)
    except StopIteration as end:
        result: Result = end.value
        return result


def run(study: Study[Result], total: Callable[[Query], Answer]) -> Result:
    """The study's result, where `total` answers a query for all assets together."""
    try:
        query = next(study)
        while True:
            query = study.send(query.conclude(total(query)))
    except StopIteration as end:
        result: Result = end.value
        return result
