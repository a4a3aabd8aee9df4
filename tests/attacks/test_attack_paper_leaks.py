"""What the paper's profile leaks, and "secure" does not: chains, averaged masks, and read-out by chosen factors."""

import msgspec
import numpy as np
import pytest
from parties import Table, said, sum_of, vector
from scipy.stats import chisquare

from fedmpca.crypto.keys import enc, mask_key
from fedmpca.crypto.masks import mask
from fedmpca.crypto.ring import decode, to_bytes
from fedmpca.protocol.chain import ChainMember
from fedmpca.protocol.messages import Pass, Share, Values
from fedmpca.protocol.numbers import array_of
from fedmpca.protocol.questions import Arrays, query_bytes
from fedmpca.protocol.sums import as_answer, hide
from fedmpca.studies.queries import Captured, InitialScatters, ModeScatter, StreamSums

SHAPE = (3, 2, 2)
MEAN = np.full(SHAPE, 0.25)


def unit(length, place):
    return np.eye(length)[:, place : place + 1]


def share(table, query, boxes=None):
    """A round of the paper's profile in which everybody is asked; replies by number."""
    table.round += 1
    hellos = table.hellos if table.round == 1 else ()
    text = query_bytes(query, Arrays())
    replies = {}
    for number in range(table.n):
        mine = () if boxes is None else tuple(drawn[number] for drawn in boxes)
        replies[number] = table.tell(number, table.sealed(Share(query=text, boxes=mine, hellos=hellos)))
    return replies


def masked_means(table):
    """Algorithm 2: what the coordinator receives of each member."""
    table.begin()
    table.hello()
    query = StreamSums(table.agreement.shape)
    drawn = [said(text).boxes for _, text in sorted(share(table, query).items())]
    return share(table, query, drawn)


def own_scatter(streams, mode, mean=MEAN):
    columns = np.moveaxis(streams - mean, mode + 1, 0).reshape(streams.shape[mode + 1], -1)
    return columns @ columns.T


def test_on_paper_the_second_member_rebuilds_the_scatter_of_the_first_from_its_box(monkeypatch):
    """Member 1 multiplies the vectors and values that it is handed, and has member 0's scatter of every mode."""
    boxes = []
    received = ChainMember._open

    def remembered(self, *args):
        boxes.append(received(self, *args))
        return boxes[-1]

    table = Table("paper", shape=SHAPE)
    masked_means(table)
    query = query_bytes(InitialScatters(MEAN), Arrays())
    table.round += 1
    first = said(table.tell(0, table.sealed(Pass(query=query, box=b"", last=False))))
    table.round += 1
    monkeypatch.setattr(ChainMember, "_open", remembered)
    table.tell(1, table.sealed(Pass(query=query, box=first.boxes[1], last=False)))
    (parts,) = boxes
    for mode, (values, vectors) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        U = array_of(vectors, (SHAPE[mode], None), "")
        rebuilt = U * array_of(values, (SHAPE[mode],), "") @ U.T
        np.testing.assert_allclose(rebuilt, own_scatter(table.streams[0], mode), rtol=1e-12, atol=1e-12)


def unmasked(table, replies, known):
    """Member 0's vector less the masks that these others know from their own secrets."""
    y = vector(replies[0]).copy()
    reply = said(replies[0])
    for other in known:
        secret = table.members[other]._secrets[0]
        info = enc("mask", table.round, reply.ctx, 0, other)
        mask(y, mask_key(secret, table.sid, info), negative=True)
    return y


@pytest.mark.parametrize(("liars", "learns"), [([], False), ([1], False), ([2], False), ([1, 2], True)])
def test_under_secure_nobody_rebuilds_a_scatter_but_all_the_others_together(liars, learns):
    """Who strips the masks it shares from member 0's vector has noise, as long as one other member keeps its own."""
    table = Table(shape=SHAPE)
    table.hello()
    query = InitialScatters(MEAN)
    replies = table.ask(query)
    y = unmasked(table, replies, liars)
    stripped = as_answer(query, y, table.agreement)
    exact = all(np.allclose(x, own, rtol=1e-12) for x, own in zip(stripped, table.answer(0, query), strict=True))
    assert exact == learns
    assert y[-1].any() != learns


def rms(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


def test_on_paper_averaging_masked_means_tends_to_the_mean_of_the_member():
    """The coordinator averages what a member sends in k sessions: the error falls as 1 / sqrt(k)."""
    table = Table("paper", shape=(300,), largest_value=5.0)
    seen = np.array([array_of(said(masked_means(table)[1]).numbers[1], (300,), "") for _ in range(64)])
    mean = table.streams[1].mean(axis=0)
    few, many = (rms([part.mean(axis=0) - mean for part in np.split(seen, 64 // k)]) for k in (4, 64))
    assert few / many == pytest.approx(4, rel=0.25)
    assert many < 0.1 * rms(mean)


def test_under_secure_averaging_masked_vectors_tends_to_nothing():
    """The coordinator has as many sessions as it likes: each vector is uniform anew, whatever the member's mean is."""
    table, seen = Table(shape=(300,), largest_value=5.0), []
    for _ in range(64):
        table.begin()
        table.hello()
        seen.append(vector(table.ask(StreamSums((300,)), of=[1])[1]))
    bytes_by_place = np.frombuffer(b"".join(map(to_bytes, seen)), np.uint8).reshape(-1, 16)
    for place in range(16):
        assert chisquare(np.bincount(bytes_by_place[:, place], minlength=256)).pvalue > 1e-6
    averaged = decode(np.array([sum_of([y[1 + k : 2 + k] for y in seen])[0] for k in range(300)]), 12)
    own = table.streams[1].sum(axis=0)
    assert abs(np.corrcoef(averaged, own)[0, 1]) < 0.3


def chosen(pixel, mode=0, mean=MEAN):
    """Factors that keep one pixel of the modes not asked for."""
    factors = tuple(unit(length, place) for length, place in zip(SHAPE, pixel, strict=True))
    return ModeScatter(mode, 1, mean, factors, (mode + 1) % 3, centre_first=False)


@pytest.mark.parametrize("profile", ["secure", "plain"])
def test_a_coordinator_that_chooses_factors_reads_pooled_moments_of_chosen_pixels(profile):
    """Unit vectors as factors: the total is the second moments of the pixels (., 1, 0), pooled over all members.

    Documented: the coordinator is trusted to ask what was agreed. It only ever reads a sum over all.
    """
    table = Table(profile, shape=SHAPE)
    table.hello()
    query = chosen((0, 1, 0))
    replies = table.ask(query)
    total = sum_of([vector(text) for text in replies.values()])
    column = np.concatenate(table.streams)[:, :, 1, 0] - 0.25
    moments = (column.T @ column)[np.triu_indices(3)]
    np.testing.assert_allclose(as_answer(query, total, table.agreement)[0], moments, rtol=1e-12)
    alone = as_answer(query, vector(replies[0]), table.agreement)[0]
    own = table.answer(0, query)[0]
    assert np.allclose(alone, own, rtol=1e-12) == (profile == "plain")


def test_on_paper_chosen_factors_read_one_pixel_of_one_member():
    """Every member answers its own Psi unhidden: with unit vectors as factors that is the energy of one pixel."""
    table = Table("paper", shape=SHAPE)
    masked_means(table)
    factors = tuple(unit(length, place) for length, place in zip(SHAPE, (2, 0, 1), strict=True))
    replies = share(table, Captured(MEAN, factors))
    for number, text in replies.items():
        assert isinstance(said(text), Values)
        (psi,) = array_of(said(text).numbers[0], (1,), "")
        assert psi == pytest.approx(np.sum((table.streams[number][:, 2, 0, 1] - 0.25) ** 2), rel=1e-12)


def test_under_secure_the_same_question_reads_no_member(monkeypatch):
    """The coordinator asks for the energy of one pixel: each member's number is noise, and without masks it is not."""
    factors = tuple(unit(length, place) for length, place in zip(SHAPE, (2, 0, 1), strict=True))
    query = Captured(MEAN, factors)
    for hidden in (True, False):
        monkeypatch.setattr("fedmpca.protocol.member.hide", hide if hidden else lambda *args: None)
        table = Table(shape=SHAPE)
        table.hello()
        for number, text in table.ask(query).items():
            (psi,) = as_answer(query, vector(text), table.agreement)[0]
            exact = np.sum((table.streams[number][:, 2, 0, 1] - 0.25) ** 2)
            assert (psi == pytest.approx(exact, rel=1e-12)) != hidden


def test_the_coordinator_that_carries_the_boxes_cannot_open_them():
    """On paper too, what members hand each other is sealed: the coordinator sees no array in it, the receiver does."""
    table = Table("paper", shape=SHAPE)
    table.hello()
    drawn = said(share(table, StreamSums(SHAPE))[0]).boxes
    info = enc("box", table.sid, 1, 0, 1)
    inside = msgspec.msgpack.decode(table.members[1]._key.open_box(drawn[1], info))
    assert inside[0][1] not in drawn[1]
    assert len(inside[0][1]) == 8 * 12
