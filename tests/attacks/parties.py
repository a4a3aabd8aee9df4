"""A table of parties made by hand: members as they are, and whoever sits in the coordinator's place, honest or not.

Every attack is told with it. Data, keys and masks come from fixed seeds, so each attack goes the same way every time.
"""

import msgspec
import numpy as np

from fedmpca.crypto.keys import Identity, hash_of
from fedmpca.crypto.ring import add, from_bytes, to_bytes
from fedmpca.protocol.agreement import Agreement, write_agreement
from fedmpca.protocol.member import Member, Work
from fedmpca.protocol.messages import (
    NO_SESSION,
    VERSION,
    Ask,
    Bodies,
    Envelope,
    HelloAsk,
    Refusal,
    seal_message,
)
from fedmpca.protocol.questions import Arrays, query_bytes
from fedmpca.studies.sample import Sample
from fedmpca.studies.workers import answers


def entropy(seed):
    """Secrets that repeat: of the tests alone, the package takes its own from the system."""
    rng = np.random.default_rng(seed)
    return lambda count: rng.bytes(count)


def opened(text):
    """The envelope, whoever signed it."""
    return msgspec.msgpack.decode(text, type=Envelope)


def said(text):
    """The body, whoever signed it."""
    return msgspec.msgpack.decode(opened(text).body, type=Bodies)


def altered(text, **changes):
    """The message with other entries in its envelope, under the old signature."""
    return msgspec.msgpack.encode(msgspec.structs.replace(opened(text), **changes))


def refused_with(text, code):
    """Whether this is a refusal by the rule of this code."""
    return isinstance(said(text), Refusal) and said(text).code == code


def vector(text):
    """The ring vector of a reply."""
    y = said(text).y
    return from_bytes(y, len(y) // 16)


def sum_of(vectors):
    """The sum of ring vectors."""
    total = np.zeros_like(next(iter(vectors)))
    for y in vectors:
        add(total, y)
    return total


def sid_of(agreement, hellos):
    """The session's name that these hellos give, believed as they come."""
    keys = [item for number, text in enumerate(hellos) for item in (number, said(text).key)]
    transcript = hash_of("transcript", agreement.hash)
    return hash_of("sid", VERSION, agreement.hash, 0, transcript, *keys)


def some_streams(assets, shape, seed):
    rng = np.random.default_rng([seed, assets])
    return rng.normal(size=shape) + rng.normal(size=(assets, *shape))


class Table:
    """Members by number, and requests made by hand: what is asked of whom, and signed by whom, is the test's choice."""

    def __init__(self, profile="secure", *, shape=(3, 2, 2), assets=(5, 7, 4), seed=0, streams=None, **agreed):
        self._entropy = entropy(seed)
        n = len(assets)
        self.identities = sorted((Identity.new(self._entropy) for _ in range(n)), key=lambda one: one.public)
        self.coordinator = Identity.new(self._entropy)
        entries = {"ranks": (1,) * len(shape), "largest_value": 50.0, "most_assets": 100, "smallest_fleet": 1, **agreed}
        self.agreement = Agreement.read(
            write_agreement(
                coordinator=self.coordinator.public.hex(),
                shape=shape,
                profile=profile,
                **entries,
                members={f"member-{number}": one.public.hex() for number, one in enumerate(self.identities)},
            )
        )
        self.streams = streams or [some_streams(count, shape, seed + number) for number, count in enumerate(assets)]
        self.samples = [Sample(part) for part in self.streams]
        self.begin()

    @property
    def n(self):
        return self.agreement.n_members

    def begin(self):
        """A new session of the same parties, with new keys."""
        self.members = [
            Member(self.agreement, name, identity, n_assets=len(sample), entropy=self._entropy)
            for name, identity, sample in zip(self.agreement.roster, self.identities, self.samples, strict=True)
        ]
        self.round, self.sid, self.hellos = -1, NO_SESSION, ()

    def sealed(self, body, *, identity=None, **instead):
        """The body as the coordinator says it now, or as somebody else does."""
        envelope = {"sid": self.sid, "sender": self.n, "round_": self.round, **instead}
        return seal_message(body, **envelope, identity=identity or self.coordinator)

    def answer(self, number, query):
        """What this member alone would answer."""
        (found,) = answers(query, [self.samples[number]])
        return found

    def tell(self, number, text, answer=None):
        """Hand a message to a member, and let it work: what it says."""
        heard = self.members[number].receive(text)
        if not isinstance(heard, Work):
            return heard
        return heard.finish(self.answer(number, heard.query) if answer is None else answer)

    def ask_hello(self):
        """Everyone's hello."""
        self.round = 0
        text = self.sealed(HelloAsk(agreement=self.agreement.hash, epoch=0))
        return tuple(self.tell(number, text) for number in range(self.n))

    def hello(self):
        """Begin as agreed."""
        self.take(self.ask_hello())

    def take(self, hellos):
        """Hand on these hellos from now on, whatever they are."""
        self.hellos = tuple(hellos)
        self.sid = sid_of(self.agreement, self.hellos)

    def request(self, query, total=b""):
        """A question of this round."""
        return self.sealed(
            Ask(query=query_bytes(query, Arrays()), total=total, hellos=self.hellos if self.round == 1 else ())
        )

    def ask(self, query, total=b"", *, of=None, answers=None):
        """Ask one question of all, or {number: question}; replies by number. So with totals and made-up answers."""
        self.round += 1
        return {
            number: self.tell(
                number,
                self.request(_for(number, query), _for(number, total)),
                None if answers is None else answers[number],
            )
            for number in (range(self.n) if of is None else of)
        }

    def total(self, replies):
        """The sum of the replies' vectors, as it travels."""
        return to_bytes(sum_of([vector(text) for text in replies.values()]))


def _for(number, given):
    return given[number] if isinstance(given, dict) else given
