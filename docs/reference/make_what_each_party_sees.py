"""Writes what-each-party-sees.md from the words that a session's record is made from; a test compares the two.

What comes from the code: the profiles, the queries with their docstrings and sizes, what each message tells. What
stands here: who sends a message and who can read it, and what is said of totals and of parties. Whatever the code has
and this script has no words for is a KeyError.
"""

import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np

from fedmpca.crypto.ring import ENTRY_BYTES
from fedmpca.protocol.agreement import PROFILES
from fedmpca.protocol.disclosures import ANSWERS, PAPER_VALUES, WORDS
from fedmpca.protocol.policy import REFUSALS
from fedmpca.protocol.questions import CATALOGUE

PAGE = Path(__file__).with_name("what-each-party-sees.md")
SHAPE = (21, 21, 10)
"""Of the streams whose answers are counted."""

COORDINATOR, MEMBER = "coordinator", "member"
PLAINLY = "receiver, carrier"
MASKED = "receiver, carrier: as noise"
SEALED = "each box: the member that it is sealed for"
IN_PART = "question: receiver, carrier; box: receiver alone"

BY_SUMS = {
    "HelloAsk": (COORDINATOR, PLAINLY),
    "Hello": (MEMBER, PLAINLY),
    "Ask": (COORDINATOR, PLAINLY),
    "Reply": (MEMBER, PLAINLY),
    "Close": (COORDINATOR, PLAINLY),
    "Closed": (MEMBER, PLAINLY),
    "Refusal": (MEMBER, PLAINLY),
    "End": (COORDINATOR, PLAINLY),
}
BY_CHAIN = {
    "HelloAsk": (COORDINATOR, PLAINLY),
    "Hello": (MEMBER, PLAINLY),
    "Share": (COORDINATOR, IN_PART),
    "Boxes": (MEMBER, SEALED),
    "Pass": (COORDINATOR, IN_PART),
    "Values": (MEMBER, PLAINLY),
    "Close": (COORDINATOR, PLAINLY),
    "Closed": (MEMBER, PLAINLY),
    "Refusal": (MEMBER, PLAINLY),
    "End": (COORDINATOR, PLAINLY),
}
MESSAGES = {"secure": BY_SUMS | {"Reply": (MEMBER, MASKED)}, "plain": BY_SUMS, "paper": BY_CHAIN}
"""By profile, in the order of a session: who sends a message, who can read it. A test compares it with sessions."""

ABOUT = {
    "secure": "Sums that nobody sees a summand of. The default.",
    "paper": "The paper's own algorithms, with their leaks. A `Share` has boxes in the second step of the mean only; "
    "else it is the question alone, to all.",
    "plain": 'The sums of "secure" without the masks, for tests and for fleets of one owner. It hides nothing from the '
    "coordinator.",
}

AGREED = "the agreement: names and public keys of all, shape, bounds, rules"
RESULT = "the result"
ROLES = {
    "secure": {
        "coordinator": f"{AGREED}; all totals; {RESULT}. Of one member nothing but when it answers, and by which rule "
        "it refuses.",
        "other member": f"{AGREED}; everybody's session key; all totals; {RESULT}. By subtracting its own answers: the "
        "sums over all the others.",
        "carrier": "what the coordinator sees.",
        "outsider": "nothing that is sent.",
    },
    "paper": {
        "coordinator": f"{AGREED}; each member's number of assets; each member's mean, hidden in part; each member's "
        f"captured scatter, every sweep; all values and the leading vectors of each mode; {RESULT}.",
        "other member": f"{AGREED}; everybody's session key; mean and factors; {RESULT}. From the second member on: "
        "each scatter, summed over all members before it; so the second learns the first one's, exactly. The last one: "
        "each scatter, summed over all.",
        "carrier": "what the coordinator sees. The boxes are closed to both.",
        "outsider": "nothing that is sent.",
    },
    "plain": {
        "coordinator": f"{AGREED}; every member's answer to every question; all totals; {RESULT}.",
        "other member": f"{AGREED}; everybody's session key; all totals; {RESULT}. By subtracting its own answers: the "
        "sums over all the others.",
        "carrier": "what the coordinator sees.",
        "outsider": "nothing that is sent.",
    },
}
"""What a party learns that keeps to the protocol, and alone."""

TELLS = {
    "StreamSums": (
        "how many assets there are in all, and their mean stream: both are in the result.",
        "how many assets the member has, and their mean. Of one asset: its stream.",
    ),
    "InitialScatters": (
        "how the pixels of each mode vary together, over all assets. Its eigenvalues are the result's `spectra_`.",
        "the same of the member's own assets, about the common mean. Of one asset: in each mode, its singular values "
        "and left singular vectors.",
    ),
    "ModeScatter": (
        "how one mode varies after the other modes are projected on the factors. Factors that a cheating coordinator "
        "chooses let it read any second moment of pixels over all assets.",
        "the same of the member's own assets; so any second moment of its own pixels.",
    ),
    "Captured": (
        "the sum of the squared features of all assets: the result's `captured_`. The sums of the other profiles tell "
        "it without being asked.",
        "how much the member's own assets vary along the factors.",
    ),
}
"""What the total of a query tells, and what an answer of one member alone is."""

INTRODUCTION = """\
# What each party sees

This page is made from the code by `docs/reference/make_what_each_party_sees.py`: from the words of
`src/fedmpca/protocol/disclosures.py`, which a session's record is made from too, and from the queries of
`src/fedmpca/studies/queries.py`, which are all that a member ever answers. A test compares the two. For a session that
was held, `federation.disclosures` has a row for each message.

It says what a party learns that keeps to the protocol. What others can find out is told in
[limitations and attacks](../explanation/limitations-and-attacks.md). In this version all parties of a federation are in
one process, and their owner sees everything; what is said here is what the messages show.

The parties:

- the **coordinator** runs the study, asks and adds;
- a **member** holds a fleet and answers;
- a **carrier** is whoever hands messages on between them, such as a broker, and whoever reads along where a connection
  is not encrypted;
- an **outsider** is anybody else.

What is learnt from the result itself (mean, factors, spectra, captured scatter, number of assets in all) everybody
learns who is given the model.

In the tables, *answer* is what the question asks for, and *answer before* the same for the question before; both are
listed [below](#queries).
"""


def page() -> str:
    """The whole page."""
    sections = [INTRODUCTION, *map(_profile, PROFILES), _queries(), _refusals()]
    return "\n".join(sections)


def _profile(profile: str) -> str:
    words = {name: WORDS.get((profile, name)) or WORDS["any", name] for name in _told(profile)}
    words |= {"Values": _values()} if profile == "paper" else {}
    messages = [
        f"| `{name}` | {sender} | {reader} | {words[name].format(answer='*answer*', before='*answer before*')} |"
        for name, (sender, reader) in MESSAGES[profile].items()
    ]
    roles = [f"| {role} | {learns} |" for role, learns in ROLES[profile].items()]
    return "\n".join(
        [
            f'## Profile "{profile}"',
            "",
            ABOUT[profile],
            "",
            "| message | sent by | can be read by | what it tells |",
            "|---|---|---|---|",
            *messages,
            "",
            "| party | learns |",
            "|---|---|",
            *roles,
            "",
        ]
    )


def _told(profile: str) -> list[str]:
    return [name for name in MESSAGES[profile] if (profile, name) != ("paper", "Values")]


def _values() -> str:
    return "by question: " + "; ".join(f"`{name}`: {PAPER_VALUES[name]}" for name in CATALOGUE)


def _queries() -> str:
    head = [
        "## Queries",
        "",
        "The closed catalogue: a member answers these and nothing else. Sizes are for streams of "
        f"{' x '.join(map(str, SHAPE))}; an entry takes {ENTRY_BYTES} bytes in a sum.",
        "",
    ]
    return "\n".join([*head, *(_query(name) for name in CATALOGUE)])


def _query(name: str) -> str:
    total, alone = TELLS[name]
    entries = sum(_example(CATALOGUE[name]).parts(SHAPE))
    return "\n".join(
        [
            f"### {name}",
            "",
            f"*{' '.join((inspect.getdoc(CATALOGUE[name]) or '').split())}*",
            "",
            "| | |",
            "|---|---|",
            f"| *answer* | {ANSWERS[name]}: {entries:,} {'entry' if entries == 1 else 'entries'} |",
            f"| the total tells | {total} |",
            f"| the answer of one member alone would tell | {alone} |",
            f'| under "paper" a member tells the coordinator | {PAPER_VALUES[name]} |',
            "",
        ]
    )


def _example(query: type) -> object:
    """An instance, whose size can be asked."""
    known = {
        "shape": SHAPE,
        "mean": np.zeros(SHAPE),
        "factors": tuple(np.eye(length)[:, :1] for length in SHAPE),
        "mode": 0,
        "sweep": 1,
        "first": 1,
        "centre_first": False,
    }
    return query(**{entry.name: known[entry.name] for entry in fields(query)})


def _refusals() -> str:
    codes = [f"| `{code}` | {meaning} |" for code, meaning in REFUSALS.items()]
    return "\n".join(
        [
            "## Codes of refusals",
            "",
            "A `Refusal` or an `End` tells one of these and nothing else. The reason in full is read at home. No code "
            "depends on the values of a fleet that meets the agreement.",
            "",
            "| code | meaning |",
            "|---|---|",
            *codes,
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
