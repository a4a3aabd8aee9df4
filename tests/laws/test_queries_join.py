"""The law that makes federated equal pooled: the answer for assets together is the join of the answers apart."""

import numpy as np
import pytest
from catalogue import every_query, query_classes, some_streams
from hypothesis import given, settings
from hypothesis import strategies as st

from fedmpca.studies.queries import Bounds, join
from fedmpca.studies.sample import Sample
from fedmpca.studies.workers import answers

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def answer(query, streams):
    (found,) = answers(query, [Sample(streams)])
    return found


def close(a, b, scale):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * scale)


def test_the_list_of_queries_is_the_whole_catalogue():
    assert {type(query) for query in every_query((3, 2, 2))} == query_classes()


@settings(max_examples=40)
@given(shapes, st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_pooled_equals_the_join_over_any_split(shape, counts):
    streams = some_streams(sum(counts), shape)
    parts = np.split(streams, np.cumsum(counts)[:-1])
    for query in every_query(shape):
        joined = answer(query, parts[0])
        for part in parts[1:]:
            joined = join(joined, answer(query, part))
        close(joined, answer(query, streams), scale=np.abs(streams).sum())


@settings(max_examples=20)
@given(shapes, st.permutations(range(6)))
def test_the_order_of_assets_does_not_matter(shape, order):
    streams = some_streams(6, shape)
    for query in every_query(shape):
        close(answer(query, streams[list(order)]), answer(query, streams), scale=np.abs(streams).sum())


@given(shapes)
def test_an_answer_has_the_parts_that_its_query_says(shape):
    for query in every_query(shape):
        found = answer(query, some_streams(2, shape))
        assert tuple(part.shape for part in found) == tuple((length,) for length in query.parts(shape))


@given(shapes, st.integers(1, 4), st.integers(1, 5), st.floats(1e-6, 1e6), st.integers(0, 99))
def test_no_total_passes_its_bound(shape, members, assets, largest, seed):
    """Whatever the streams are, as long as they keep to what the agreement says."""
    rng = np.random.default_rng(seed)
    streams = largest * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], size=(members * assets, *shape))
    public = Bounds(n_members=members, most_assets=assets, largest_value=largest)
    for query in every_query(shape, mean=rng.choice([-largest, largest], size=shape)):
        bounds = query.bounds(shape, public)
        for part, bound in zip(answer(query, streams), bounds, strict=True):
            assert np.abs(part).max() <= bound


@given(shapes)
def test_joining_does_not_depend_on_the_side(shape):
    for query in every_query(shape):
        a, b = answer(query, some_streams(2, shape)), answer(query, some_streams(3, shape, seed=5))
        for x, y in zip(join(a, b), join(b, a), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("shape", [(6,), (5, 4), (4, 5, 3), (2, 3, 2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8"])
def test_answers_are_float64_and_those_of_float64_streams(shape, dtype):
    """What is stored small is summed in float64: the same answer as for the same numbers stored large."""
    stored = (20 * some_streams(7, shape)).astype(dtype)
    for query in every_query(shape):
        given_small, given_large = answer(query, stored), answer(query, stored.astype("float64"))
        assert all(part.dtype == np.float64 for part in given_small)
        close(given_small, given_large, scale=1.0)


def test_blocks_larger_than_a_piece_are_cut_within(monkeypatch):
    """Streams larger than a piece: the same answers, however small the pieces."""
    from fedmpca.studies import sample

    streams = some_streams(5, (7, 6, 4))
    whole = {repr(query): answer(query, streams) for query in every_query((7, 6, 4))}
    for cells in (1, 10, 50, 168, 400):
        monkeypatch.setattr(sample, "PIECE_CELLS", cells)
        for query in every_query((7, 6, 4)):
            close(answer(query, streams), whole[repr(query)], scale=1e3)


def test_contracted_streams_that_are_kept_change_no_bit():
    """Kept in full, in part or not at all: what is kept is what would be computed again."""
    streams = some_streams(40, (60, 50, 40))
    limits = (10**9, 8 * 40 * 60 * 50 * 40, 10**6, 1)
    for queries in zip(*[every_query((60, 50, 40)) for _ in limits], strict=True):
        samples = [Sample(streams, memory_limit=limit) for limit in limits]
        found = []
        for query, sample in zip(queries, samples, strict=True):
            first, again = answers(query, [sample])[0], answers(query, [sample])[0]
            assert all(x.tobytes() == y.tobytes() for x, y in zip(first, again, strict=True))
            found.append(first)
        assert all(x.tobytes() == y.tobytes() for other in found[1:] for x, y in zip(found[0], other, strict=True))


def test_several_samples_are_answered_for_each_by_itself():
    """One pool serves all members' blocks; each still gets the answer it would get alone, to the bit."""
    members = [some_streams(count, (9, 8, 7), seed=count) for count in (3, 500, 40)]
    for query in every_query((9, 8, 7)):
        together = answers(query, [Sample(streams) for streams in members])
        for streams, found in zip(members, together, strict=True):
            assert all(x.tobytes() == y.tobytes() for x, y in zip(answer(query, streams), found, strict=True))
