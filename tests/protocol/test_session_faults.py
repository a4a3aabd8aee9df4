"""Messages that are lost, late, doubled, out of order or damaged: the right sum, or a typed error, and no hang."""

import numpy as np
import pytest
from federations import low_rank, split

import fedmpca as fm
from fedmpca.crypto.keys import Identity
from fedmpca.errors import AgreementError, ProtocolError, RefusedError, TooFewMembersError
from fedmpca.protocol.agreement import Agreement, write_agreement
from fedmpca.protocol.coordinator import Coordinator
from fedmpca.protocol.member import Member
from fedmpca.protocol.policy import Policy
from fedmpca.protocol.questions import Arrays, query_bytes, read_query
from fedmpca.protocol.results import projection_bytes, read_projection
from fedmpca.studies.mpca import mpca_study
from fedmpca.studies.queries import InitialScatters
from fedmpca.studies.sample import Sample
from fedmpca.transports.local import COORDINATOR, run_session

SHAPE, RANKS = (7, 6, 5), (3, 2, 2)


def fit(faults, counts=(20, 12, 8), profile="secure"):
    """The projection that a session under these faults gives."""
    federation = fm.Federation.in_process(split(low_rank(sum(counts)), counts), profile)
    study = mpca_study(SHAPE, ranks=RANKS, variance_kept=0.97, tol=0, max_iter=3)
    parameters = {"ranks": RANKS, "variance_kept": 0.97, "tol": 0.0, "max_sweeps": 3}
    return federation.run(study, parameters, faults=faults)


def undisturbed(profile="secure"):
    return fit(lambda sender, receiver, text: [(0.0, text)], profile=profile)


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip((a.mean, *a.factors), (b.mean, *b.factors), strict=True))


class Sometimes:
    """Does something to one message in eight, by chance. Asked ten times, nobody stays unheard by that."""

    def __init__(self, act, seed=0):
        self.act = act
        self.rng = np.random.default_rng(seed)

    def __call__(self, sender, receiver, text):
        return self.act(text, self.rng) if self.rng.random() < 1 / 8 else [(0.0, text)]


def flipped(text, rng):
    damaged = bytearray(text)
    damaged[rng.integers(len(text))] ^= 1 << rng.integers(8)
    return [(0.0, bytes(damaged))]


FAULTS = {
    "lost": lambda text, rng: [],
    "late": lambda text, rng: [(float(rng.uniform(0, 40)), text)],
    "doubled": lambda text, rng: [(0.0, text), (0.0, text)],
    "doubled, one much later": lambda text, rng: [(0.0, text), (70.0, text)],
    "damaged": flipped,
    "cut short": lambda text, rng: [(0.0, text[: rng.integers(len(text))])],
    "longer": lambda text, rng: [(0.0, text + b"x")],
    "damaged beside the right one": lambda text, rng: [*flipped(text, rng), (1.0, text)],
}


@pytest.mark.parametrize("profile", ["secure", "paper"])
@pytest.mark.parametrize("fault", FAULTS)
def test_messages_that_are_disturbed_are_asked_for_again(fault, profile):
    """Nothing of it changes a bit of the sums that are exact, and nothing hangs."""
    found = fit(Sometimes(FAULTS[fault]), profile=profile)
    if profile == "secure":
        assert same(found, undisturbed())
    else:
        np.testing.assert_allclose(found.captured, undisturbed(profile).captured, rtol=1e-10)


@pytest.mark.parametrize("profile", ["secure", "paper", "plain"])
@pytest.mark.parametrize("from_message", [0, 1, 2, 5])
def test_a_silent_member_ends_the_session_by_name(from_message, profile):
    """Never another cohort's sum: the error names who, since when and in which round."""
    heard = []

    def silent(sender, receiver, text):
        if sender == 1:
            heard.append(text)
        return [] if sender == 1 and len(heard) > from_message else [(0.0, text)]

    with pytest.raises(
        TooFewMembersError, match=r"^user-\d did not answer for 300 s in round \d+ \(.*\).*same members"
    ):
        fit(silent, profile=profile)


def test_two_silent_members_are_both_named():
    with pytest.raises(TooFewMembersError, match=r"user-\d, user-\d did not answer"):
        fit(lambda sender, receiver, text: [] if sender in (0, 2) else [(0.0, text)])


def test_a_coordinator_that_falls_silent_leaves_members_waiting_not_summed():
    """Requests are lost: the coordinator asks ten times, then ends the session for everybody."""
    asked = []

    def unheard(sender, receiver, text):
        if sender == COORDINATOR and receiver == 1:
            asked.append(text)
            return []
        return [(0.0, text)]

    with pytest.raises(TooFewMembersError):
        fit(unheard)
    assert 9 <= len(asked) <= 11
    assert len(set(asked)) == 2  # the same bytes each time, and the farewell


def test_a_member_that_refuses_tells_a_code_and_keeps_the_reason(monkeypatch):
    from fedmpca.protocol import policy

    strict = policy.Policy(queries=frozenset({"StreamSums"}))
    monkeypatch.setattr(policy.Policy, "__init__", lambda self: self.__dict__.update(vars(strict)))
    seen = []

    def tap(sender, receiver, text):
        seen.append((sender, text))
        return [(0.0, text)]

    with pytest.raises(
        RefusedError, match=r"user-\d refused in round 2 \(query\): its policy does not allow"
    ) as caught:
        fit(tap)
    assert "InitialScatters" in str(caught.value.__cause__)  # at home, the whole reason
    codes = [text for sender, text in seen if sender != COORDINATOR and b"Refusal" in text]
    assert codes
    assert all(b"InitialScatters" not in text for text in codes)


def test_too_many_rounds_are_refused():
    federation = fm.Federation.in_process(split(low_rank(40), [20, 12, 8]))
    study = mpca_study(SHAPE, ranks=RANKS, variance_kept=0.97, tol=0, max_iter=3)
    parameters = {"ranks": RANKS, "tol": 0.0, "max_sweeps": 3, "most_rounds": 4}
    with pytest.raises(RefusedError, match=r"round 5 \(rounds\): .* agree on fewer sweeps"):
        federation.run(study, {**parameters} | {"variance_kept": 0.97})


def test_a_study_beyond_the_agreement_is_refused():
    """The coordinator's study runs more sweeps, or other ranks, than everybody agreed on."""
    federation = fm.Federation.in_process(split(low_rank(40), [20, 12, 8]))
    for ranks, sweeps in (((2, 2, 2), 3), ((3, 2, 2), 4)):
        study = mpca_study(SHAPE, ranks=ranks, variance_kept=0.97, tol=0, max_iter=sweeps)
        with pytest.raises(RefusedError, match=r"\(protocol\)") as caught:
            federation.run(study, {"ranks": RANKS, "tol": 0.0, "max_sweeps": 3})
        assert isinstance(caught.value.__cause__, ProtocolError)


def test_two_different_signed_answers_in_one_round_are_evidence(monkeypatch):
    from fedmpca.protocol import member

    real = member.Member._reply
    names = []

    def twice(self, body):
        first = real(self, body)
        if self.number == 1 and self._round == 2 and not names:
            names.append(self.name)
            changed = type(body)(ctx=body.ctx, y=bytes(len(body.y)))
            twice.second = real(self, changed)
        return first

    monkeypatch.setattr(member.Member, "_reply", twice)

    def both(sender, receiver, text):
        second = getattr(twice, "second", None)
        if sender == 1 and second is not None and text != second:
            return [(0.0, text), (0.0, second)]
        return [(0.0, text)]

    with pytest.raises(ProtocolError, match=r"signed two different answers in round 2"):
        fit(both)


def test_a_members_own_policy_is_held_against_the_agreement():
    """Nothing that others agreed on can lower what a member insists on."""
    keys = {f"user-{number}": Identity.new(entropy(number)) for number in (1, 2, 3)}
    members = {name: identity.public.hex() for name, identity in keys.items()}
    agreement = Agreement.read(write_agreement(coordinator="f" * 64, shape=SHAPE, members=members))

    def join(n_assets=20, name="user-2", **policy):
        return Member(agreement, name, keys["user-2"], n_assets=n_assets, entropy=entropy(9), policy=Policy(**policy))

    assert join().receive(b"anything") is None
    for wrong, message in (
        ({"smallest_cohort": 4}, "has 3 members, and the policy of user-2 wants 4"),
        ({"smallest_fleet": 21}, "user-2 has 20 assets, and the smallest fleet allowed is 21"),
        ({"n_assets": 1}, "user-2 has 1 assets, and the smallest fleet allowed is 2"),
        ({"n_assets": 10_001}, "at most 10000 were agreed"),
        ({"name": "user-3"}, "has another key for user-3 than this identity's"),
        ({"name": "user-4"}, "is between user-1, user-2, user-3, and user-4 is none of them"),
    ):
        with pytest.raises(AgreementError, match=message):
            join(**wrong)


@pytest.mark.parametrize("parts", [{"folds": 5}, {"lengths": (3, 5)}])
def test_sums_over_parts_are_refused_over_a_transport_until_a_guard_is_there(parts):
    identity = Identity.new(entropy(1))
    members = {"user-1": identity.public.hex(), "user-2": "2" * 64, "user-3": "3" * 64}

    def join(**more):
        allowed = {key: more.pop(key) for key in ("allow_parts",) if key in more}
        text = write_agreement(coordinator="f" * 64, shape=SHAPE, **parts, **allowed, members=members)
        return Member(Agreement.read(text), "user-1", identity, n_assets=9, entropy=entropy(2), **more)

    with pytest.raises(AgreementError, match=r"no guard against that is there yet.*agree on allow_parts"):
        join()
    assert join(allow_parts=True).receive(b"") is None
    assert join(in_process=True).receive(b"") is None


def entropy(seed):
    """Of the tests alone."""
    rng = np.random.default_rng(seed)
    return lambda count: rng.bytes(count)


def test_an_array_that_was_found_sound_keeps_its_identity():
    """Checked arrays are known by identity: one that came twice must not be let go, or another would pass for it."""
    known = Arrays()
    text = query_bytes(InitialScatters(np.zeros(SHAPE)), Arrays())
    first = read_query(text, known).mean
    assert read_query(text, known).mean is first
    assert read_query(query_bytes(InitialScatters(np.ones(SHAPE)), Arrays()), known).mean is not first


def test_every_member_ends_with_the_coordinators_model():
    """What is closed with is the model itself, to the bit; nobody computes it again."""
    names = ("user-1", "user-2", "user-3")
    keys = {name: Identity.new(entropy(number)) for number, name in enumerate(names)}
    leader = Identity.new(entropy(9))
    parts = split(low_rank(40), [20, 12, 8])
    text = write_agreement(
        coordinator=leader.public.hex(),
        shape=SHAPE,
        ranks=RANKS,
        max_sweeps=2,
        members={name: key.public.hex() for name, key in keys.items()},
    )
    agreement = Agreement.read(text)
    study = mpca_study(SHAPE, ranks=RANKS, variance_kept=0.97, tol=0, max_iter=2)
    coordinator = Coordinator(agreement, leader, study, as_bytes=projection_bytes)
    members = [
        Member(agreement, name, keys[name], n_assets=len(parts[name]), entropy=entropy(20 + number))
        for number, name in enumerate(agreement.roster)
    ]
    run_session(coordinator, members, [Sample(parts[name].streams) for name in agreement.roster])
    assert coordinator.error is None
    for member in members:
        found = read_projection(member.result, SHAPE)
        assert same(found, coordinator.result)
        assert (found.n_assets, found.captured) == (40, coordinator.result.captured)
    for damaged in (b"", member.result[:-1], b"\xff" + member.result[1:]):
        with pytest.raises(ProtocolError, match="sent a result that cannot be read"):
            read_projection(damaged, SHAPE)
