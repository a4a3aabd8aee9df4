"""A whole secure session, every message of it read by an adversary: no number of one member is in any of them.

Besides the search for numbers there are two tests of shape: what a member sends is uniform, and a simulator that knows
only totals, public data and the roster makes messages that no test tells from the real ones.
"""

import numpy as np
import pytest
from parties import Table, said, sum_of, vector
from scipy.stats import chi2_contingency, chisquare

from fedmpca.crypto.ring import bound, encode, from_bytes, subtract, to_bytes
from fedmpca.protocol.coordinator import Coordinator
from fedmpca.protocol.messages import Reply
from fedmpca.protocol.results import projection_bytes
from fedmpca.protocol.sums import hide
from fedmpca.studies.mpca import mpca_study
from fedmpca.studies.queries import InitialScatters, StreamSums
from fedmpca.studies.workers import answers
from fedmpca.transports import local

SHAPE = (5, 4, 3)


def listened(profile, monkeypatch, **given):
    """All messages of a whole session, and all answers that members gave at home, by query."""
    table = Table(profile, shape=SHAPE, ranks=(2, 2, 2), **given)
    heard, at_home = [], []

    def tap(sender, receiver, text):
        heard.append((sender, receiver, text))
        return [(0.0, text)]

    def remembered(query, samples, progress=None):
        found = answers(query, samples, progress)
        at_home.append((query, found))
        return found

    monkeypatch.setattr(local, "answers", remembered)
    study = mpca_study(SHAPE, ranks=(2, 2, 2), variance_kept=0.97, tol=0.0, max_iter=2)
    coordinator = Coordinator(table.agreement, table.coordinator, study, as_bytes=projection_bytes)
    local.run_session(coordinator, table.members, table.samples, faults=tap)
    assert coordinator.error is None
    assert profile == "paper" or coordinator.round == 2 + 6 + 1
    return table, heard, at_home


def windows(texts, width):
    """Every run of so many bytes in the messages, wherever it begins."""
    return {text[start : start + width] for text in texts for start in range(len(text) - width + 1)}


def told_alone(table, at_home):
    """8-byte floats of every stream, and of every local sum and scatter, in both orders of their bytes."""
    numbers = [part.reshape(-1) for part in table.streams]
    numbers += [entry for _, found in at_home for answer in found for entry in answer if len(entry) > 1]
    flat = np.unique(np.concatenate(numbers))
    return {flat[k : k + 1].astype(order).tobytes() for k in range(len(flat)) for order in ("<f8", ">f8")}


def encoded_alone(table, at_home):
    """The ring encodings of every local answer, counts too, as they stand before masks."""
    found = set()
    for query, by_member in at_home:
        exponents = [bound(largest) for largest in query.bounds(SHAPE, table.agreement.bounds)]
        for answer in by_member:
            for part, exponent in zip(answer, exponents, strict=True):
                text = to_bytes(encode(part, exponent, table.n))
                found |= {text[k : k + 16] for k in range(0, len(text), 16)}
    return found


@pytest.mark.parametrize("profile", ["secure", "plain"])
def test_no_number_of_one_member_is_in_any_message(profile, monkeypatch):
    """Who reads all messages searches them for every number of every member: none is there, and on "plain" all are."""
    table, heard, at_home = listened(profile, monkeypatch)
    texts = [text for _, _, text in heard]
    assert not told_alone(table, at_home) & windows(texts, 8)
    encodings = encoded_alone(table, at_home)
    assert len(encodings) > 300
    there = encodings & windows(texts, 16)
    assert there == (set() if profile == "secure" else encodings)


def test_on_paper_the_search_finds_what_each_member_captured(monkeypatch):
    """The same search for 8-byte floats, on the paper's profile: every member's own Psi is in its messages."""
    table, heard, at_home = listened("paper", monkeypatch)
    psi = {part.tobytes() for query, found in at_home if query.title == "captured scatter" for (part,) in found}
    assert len(psi) == 2 * table.n + table.n
    assert psi <= windows([text for _, _, text in heard], 8)


def test_no_stream_is_in_any_message_even_in_part(monkeypatch):
    """Nor is the float32 of a pixel, or the upper six bytes of its float64: what a careless rounding would leave."""
    table, heard, _ = listened("secure", monkeypatch)
    there = windows([text for _, _, text in heard], 6)
    pixels = np.concatenate([part.reshape(-1) for part in table.streams])
    assert len(pixels) > 900
    assert not any(pixel.tobytes()[2:] in there for pixel in pixels)


def test_the_search_finds_what_a_member_would_let_slip(monkeypatch):
    """Weakened: one member's masks are forgotten in one round. The search for encodings finds just its entries."""
    forgetful = []

    def forgets(y, number, secrets, sid, round_, ctx):
        if (number, round_) == (1, 2):
            forgetful.append(y.copy())
        else:
            hide(y, number, secrets, sid, round_, ctx)

    monkeypatch.setattr("fedmpca.protocol.member.hide", forgets)
    table = Table(shape=SHAPE)
    table.hello()
    query = StreamSums(SHAPE)
    replies = table.ask(query)
    assert not encoded_alone(table, [(query, [table.answer(1, query)])]) & windows(replies.values(), 16)
    query = InitialScatters(np.full(SHAPE, 0.5))
    replies = table.ask(query, table.total(replies))
    encodings = encoded_alone(table, [(query, [table.answer(1, query)])])
    assert len(forgetful) == 1
    assert encodings <= windows(replies.values(), 16)


# Uniformity


def masked(profile, monkeypatch, sessions=6):
    """All ring vectors that member 1 sends in some sessions, behind each other, as bytes of each place of an entry."""
    texts = []
    for seed in range(sessions):
        _, heard, _ = listened(profile, monkeypatch, seed=seed)
        texts += [said(text).y for sender, _, text in heard if sender == 1 and isinstance(said(text), Reply)]
    return np.frombuffer(b"".join(texts), np.uint8).reshape(-1, 16)


def p_values(places):
    return [chisquare(np.bincount(places[:, place], minlength=256)).pvalue for place in range(16)]


def test_what_a_member_sends_is_uniform_in_every_byte(monkeypatch):
    """Who counts the bytes of a member's vectors, place by place, finds each value equally often."""
    assert min(p_values(masked("secure", monkeypatch))) > 1e-6


def test_without_masks_no_upper_byte_is_uniform(monkeypatch):
    """On "plain" the same counts tell the size and sign of what was sent."""
    assert max(p_values(masked("plain", monkeypatch))[8:]) < 1e-6


# The simulator


def dealt(order):
    """Streams of whole numbers that add up to nothing: so sums and scatters are exact, and alike for any deal."""
    half = np.random.default_rng(3).integers(-9, 10, size=(10, *SHAPE)).astype(float)
    streams = np.concatenate([half, -half])[order]
    return [streams[:4], streams[4:13], streams[13:]]


DEALS = [np.arange(20), np.random.default_rng(4).permutation(20)]
QUERIES = [StreamSums(SHAPE), InitialScatters(np.zeros(SHAPE))]


def real(deal, sessions):
    """Sums and scatters of a fleet dealt out so: all members' vectors of all sessions, and the totals."""
    table, seen, totals = Table(shape=SHAPE, streams=dealt(deal)), [], set()
    for _ in range(sessions):
        table.begin()
        table.hello()
        total, vectors = b"", []
        for query in QUERIES:
            replies = table.ask(query, total)
            total = table.total(replies)
            totals.add((query.title, total))
            vectors.append([vector(text) for text in replies.values()])
        seen.append(vectors)
    return seen, dict(totals)


def simulated(totals, sessions, seed):
    """Run by nobody who knows a summand: uniform vectors for all members but one, whose vector makes up the total."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(sessions):
        vectors = []
        for query in QUERIES:
            rest = from_bytes(totals[query.title], len(totals[query.title]) // 16)
            drawn = [rng.integers(0, 2**64, size=rest.shape, dtype=np.uint64) for _ in range(2)]
            for y in drawn:
                subtract(rest, y)
            vectors.append([*drawn, rest])
        seen.append(vectors)
    return seen


def bytes_of(seen, which):
    """Bytes by place of what the adversary looks at: one member's vectors, or the sum of two members'."""
    texts = [to_bytes(sum_of([by_member[k] for k in which])) for vectors in seen for by_member in vectors]
    return np.frombuffer(b"".join(texts), np.uint8).reshape(-1, 16)


def told_apart(a, b):
    """The smallest p of a two-sample test over the values of each byte, for each member and each pair of members."""
    smallest = 1.0
    for which in ([0], [1], [2], [0, 1], [0, 2], [1, 2]):
        left, right = bytes_of(a, which), bytes_of(b, which)
        for place in range(16):
            counts = np.array([np.bincount(part[:, place] // 8, minlength=32) for part in (left, right)])
            smallest = min(smallest, chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
    return smallest


def test_a_simulator_that_knows_the_totals_alone_makes_messages_like_the_real_ones():
    """Two fleets with the same totals and other summands, and a simulator without any: no two of the three differ."""
    (a, totals), (b, others) = (real(deal, 30) for deal in DEALS)
    assert totals == others
    assert len(totals) == len(QUERIES)
    c = simulated(totals, 30, seed=11)
    for vectors in (*a, *b, *c):
        for query, by_member in zip(QUERIES, vectors, strict=True):
            assert to_bytes(sum_of(by_member)) == totals[query.title]
    assert min(told_apart(a, b), told_apart(a, c), told_apart(b, c)) > 1e-6


def test_without_masks_the_simulator_is_told_from_the_real_ones_at_once(monkeypatch):
    """Weakened: no masks. The two fleets differ from each other, and both from the simulator."""
    monkeypatch.setattr("fedmpca.protocol.member.hide", lambda *args: None)
    (a, totals), (b, _) = (real(deal, 30) for deal in DEALS)
    c = simulated(totals, 30, seed=11)
    assert max(told_apart(a, b), told_apart(a, c), told_apart(b, c)) < 1e-6
