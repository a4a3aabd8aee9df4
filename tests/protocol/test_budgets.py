"""Rounds, messages and bytes of a study are exact, and those of the protocol's formulas."""

import numpy as np
import pytest
from federations import low_rank, split

import fedmpca as fm

HEADER = 256


def record(profile, members=3, shape=(7, 6, 5), ranks=(3, 2, 2), sweeps=4):
    counts = [5] * members
    federation = fm.Federation.in_process(split(low_rank(sum(counts), shape, ranks), counts), profile)
    fm.MPCA(ranks=ranks, tol=0, max_iter=sweeps).fit(federation)
    return federation.disclosures


@pytest.mark.parametrize("members", [3, 6])
@pytest.mark.parametrize("sweeps", [1, 4])
def test_trips_of_a_secure_study(members, sweeps):
    """4 + N sweeps: hello, mean, initial scatters, one a mode and sweep, close. A message each way and member."""
    rows = record("secure", members, sweeps=sweeps)
    assert rows["round"].nunique() == 4 + 3 * sweeps
    assert len(rows) == 2 * members * (4 + 3 * sweeps)
    assert set(rows.groupby(["round", "sender", "seen_by"]).size()) == {1}


@pytest.mark.parametrize("shape", [(7, 6, 5), (9, 4), (30,)])
def test_bytes_of_a_reply(shape):
    """16 bytes an entry and the zero entry, and a header of at most 256."""
    rows = record("secure", shape=shape, ranks=tuple(1 for _ in shape))
    triangles = [length * (length + 1) // 2 for length in shape]
    expected = {"mean": 1 + int(np.prod(shape)), "initial scatters": sum(triangles)}
    expected |= {f"sweep {k}, mode {n}": triangles[n] for k in range(1, 5) for n in range(len(shape))}
    replies = rows[rows.sender != "coordinator"].set_index("query")
    for query, entries in expected.items():
        for n_bytes in np.atleast_1d(replies.loc[query].n_bytes):
            assert 16 * (entries + 1) < n_bytes <= 16 * (entries + 1) + HEADER


def test_bytes_of_a_request():
    """The query, the last total at 16 bytes an entry, a header; the mean travels once, factors once each."""
    shape, ranks = (7, 6, 5), (3, 2, 2)
    cells = 7 * 6 * 5
    rows = record("secure", shape=shape, ranks=ranks)
    requests = rows[rows.sender == "coordinator"].drop_duplicates("query").set_index("query").n_bytes
    assert requests["initial scatters"] <= 16 * (cells + 2) + 8 * cells + 2 * HEADER
    triangles = sum(length * (length + 1) // 2 for length in shape)
    factors = 8 * sum(length * rank for length, rank in zip(shape, ranks, strict=True))
    assert requests["sweep 1, mode 0"] <= 16 * (triangles + 1) + factors + 3 * HEADER
    for mode in (0, 1, 2):  # one factor is new each time, whatever the size of the streams
        before = shape[mode - 1]
        largest = 16 * (before * (before + 1) // 2 + 1) + 8 * before * ranks[mode - 1] + 3 * HEADER
        assert requests[f"sweep 2, mode {mode}"] <= largest


def test_trips_of_the_papers_chain():
    """Hello; masks, masked means; D for the initialisation; Psi; D a mode and Psi, each sweep; close."""
    members, sweeps = 4, 3
    rows = record("paper", members, sweeps=sweeps)
    assert rows["round"].nunique() == 1 + 2 + members + 1 + sweeps * (3 * members + 1) + 1


def test_nothing_grows_with_the_number_of_assets():
    def n_bytes(counts):
        federation = fm.Federation.in_process(split(low_rank(sum(counts)), counts))
        fm.MPCA(ranks=(3, 2, 2), tol=0, max_iter=2).fit(federation)
        rows = federation.disclosures
        return rows[rows.sender != "coordinator"].n_bytes.tolist()

    assert n_bytes([3, 3, 3]) == n_bytes([30, 30, 30])
