"""Algorithms 2 to 5 as they run: what is in each message, compared with what the paper says it is."""

import msgspec
import numpy as np
import pytest
from federations import low_rank, split

import fedmpca as fm
from fedmpca.numerics.subspaces import basis_of_columns, principal_angles
from fedmpca.numerics.tensors import project, unfold
from fedmpca.protocol import chain
from fedmpca.protocol.messages import Bodies, Envelope, Values
from fedmpca.protocol.numbers import array_of
from fedmpca.studies.mpca import mpca_study
from fedmpca.transports.local import COORDINATOR

SHAPE, RANKS, COUNTS = (7, 6, 5), (3, 2, 2), (20, 12, 8)
STREAMS = low_rank(sum(COUNTS))


class Session:
    """A session under the paper's profile, with what was sealed and what the coordinator was told."""

    def __init__(self, monkeypatch):
        self.sealed, self.told = [], []
        real = chain.ChainMember._seal

        def seal(member, arrays, receiver, round_):
            self.sealed.append((round_, member._number, receiver, [np.array(array) for array in arrays]))
            return real(member, arrays, receiver, round_)

        monkeypatch.setattr(chain.ChainMember, "_seal", seal)
        federation = fm.Federation.in_process(split(STREAMS, COUNTS), "paper")
        study = mpca_study(SHAPE, ranks=RANKS, variance_kept=0.97, tol=0, max_iter=2)
        self.found = federation.run(study, {"ranks": RANKS, "tol": 0.0, "max_sweeps": 2}, faults=self.tap)
        self.record = federation.disclosures
        roster = self.record.query("round == 1 and sender == 'coordinator'").seen_by
        self.parts = [split(STREAMS, COUNTS)[name].streams for name in roster]

    def tap(self, sender, receiver, text):
        if receiver == COORDINATOR:
            envelope = msgspec.msgpack.decode(text, type=Envelope)
            body = msgspec.msgpack.decode(envelope.body, type=Bodies)
            if isinstance(body, Values):
                arrays = [array_of(part, tuple(part.shape), "a member") for part in body.numbers]
                self.told.append((envelope.round, sender, arrays))
        return [(0.0, text)]

    def said(self, round_):
        """What the coordinator was told in this round, by member."""
        return [arrays for found, _, arrays in sorted(self.told, key=lambda row: row[:2]) if found == round_]


@pytest.fixture(scope="module")
def session():
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="raise"):
        return Session(patch)


def test_algorithm_2_masked_means_weighted_by_assets_give_the_mean(session):
    told = session.said(2)
    assert len(told) == 3
    counts = np.array([count[0] for count, _ in told])
    masked = np.array([mean for _, mean in told])
    assert sorted(counts.tolist()) == sorted(COUNTS)
    global_mean = (counts[:, None] * masked).sum(axis=0) / counts.sum()
    np.testing.assert_allclose(global_mean, STREAMS.mean(axis=0).reshape(-1), rtol=1e-12)
    np.testing.assert_allclose(session.found.mean.reshape(-1), global_mean, rtol=1e-15)


def test_algorithm_2_each_masked_mean_is_the_local_mean_and_its_share_of_the_perturbations(session):
    tensors = {(sender, receiver): arrays[0] for round_, sender, receiver, arrays in session.sealed if round_ == 1}
    assert len(tensors) == 6
    largest = np.abs(STREAMS).max()
    assert all(tensor.shape == (210,) and np.abs(tensor).max() <= largest for tensor in tensors.values())
    assert all(np.abs(tensor.mean()) < largest / 4 < np.abs(tensor).mean() for tensor in tensors.values())
    for number, (part, (count, masked)) in enumerate(zip(session.parts, session.said(2), strict=True)):
        others = [other for other in range(3) if other != number]
        perturbation = sum(tensors[number, other] - tensors[other, number] for other in others)
        np.testing.assert_allclose(masked, part.mean(axis=0).reshape(-1) + perturbation / count[0], rtol=1e-12)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_algorithm_3_the_basis_is_merged_member_after_member(session, mode):
    """What member d hands on is the basis of all columns of members 1 to d; the last one truncates it, values whole."""
    centred = [part - STREAMS.mean(axis=0) for part in session.parts]
    for number in (0, 1):
        values, vectors = sealed_bases(session, round_=3 + number, sender=number)[mode]
        columns = np.concatenate([unfold(part, mode) for part in centred[: number + 1]], axis=1)
        whole = basis_of_columns(columns)
        np.testing.assert_allclose(values, whole.values, atol=1e-12 * whole.values[0])
        rebuilt = (vectors * values[: vectors.shape[1]]) @ vectors.T
        np.testing.assert_allclose(rebuilt, columns @ columns.T, atol=1e-12 * whole.values[0])
    (told,) = session.said(5)
    values, vectors = told[2 * mode], told[2 * mode + 1]
    assert vectors.shape == (SHAPE[mode], RANKS[mode])
    assert values.shape == (SHAPE[mode],)
    np.testing.assert_allclose(values, session.found.spectra[mode], rtol=1e-15)
    pooled = basis_of_columns(unfold(STREAMS - STREAMS.mean(axis=0), mode))
    assert principal_angles(vectors, pooled.leading(RANKS[mode])).max() < 1e-10


def sealed_bases(session, round_, sender):
    """Values and vectors of each mode that the member sealed in this round."""
    (arrays,) = [arrays for found, by, _, arrays in session.sealed if (found, by) == (round_, sender)]
    return list(zip(arrays[::2], arrays[1::2], strict=True))


def test_algorithm_4_every_member_works_on_its_own_projected_columns(session):
    """Round 6 is Psi_0, rounds 7 to 9 update mode 0 with the factors of the initialisation."""
    (told,) = session.said(5)
    factors = [told[1], told[3], told[5]]
    centred = [part - STREAMS.mean(axis=0) for part in session.parts]
    projected = [unfold(project(part, factors, skip=[0]), 0) for part in centred]
    values, vectors = sealed_bases(session, round_=8, sender=1)[0]
    columns = np.concatenate(projected[:2], axis=1)
    rebuilt = (vectors * values[: vectors.shape[1]]) @ vectors.T
    np.testing.assert_allclose(rebuilt, columns @ columns.T, atol=1e-11 * values[0])
    ((_, updated),) = session.said(9)
    whole = basis_of_columns(np.concatenate(projected, axis=1))
    assert principal_angles(updated, whole.leading(RANKS[0])).max() < 1e-10


def test_algorithm_5_psi_is_the_sum_of_the_members_own(session):
    psi = [sum(float(arrays[0][0]) for arrays in session.said(round_)) for round_ in (6, 16, 26)]
    np.testing.assert_allclose(session.found.captured, psi, rtol=1e-15)
    pooled = fm.MPCA(ranks=RANKS, tol=0, max_iter=2).fit(STREAMS)
    np.testing.assert_allclose(psi, pooled.captured_, rtol=1e-12)


def test_algorithm_5_stops_by_the_relative_gain():
    parts = split(STREAMS, COUNTS)
    pooled = fm.MPCA(ranks=RANKS, tol=1e-4).fit(STREAMS)
    joined = fm.MPCA(ranks=RANKS, tol=1e-4).fit(fm.Federation.in_process(parts, "paper"))
    assert joined.converged_
    assert joined.n_iter_ == pooled.n_iter_


def test_what_travels_between_members_is_sealed(session):
    """The coordinator carries boxes that it cannot read: none of what was sealed is in a message as it is."""
    seen = []
    federation = fm.Federation.in_process(split(STREAMS, COUNTS), "paper")
    sealed = []
    with pytest.MonkeyPatch.context() as patch:
        real = chain.ChainMember._seal

        def seal(member, arrays, receiver, round_):
            sealed.extend(np.array(array) for array in arrays)
            return real(member, arrays, receiver, round_)

        patch.setattr(chain.ChainMember, "_seal", seal)
        study = mpca_study(SHAPE, ranks=RANKS, variance_kept=0.97, tol=0, max_iter=1)

        def tap(sender, receiver, text):
            seen.append(text)
            return [(0.0, text)]

        federation.run(study, {"ranks": RANKS, "tol": 0.0, "max_sweeps": 1}, faults=tap)
    wire = b"".join(seen)
    assert len(sealed) > 6
    assert not any(array.reshape(-1)[:2].tobytes() in wire for array in sealed)
