"""What each message tells whom, in words: the record of a session, and the page that is made from the same words."""

from __future__ import annotations

from dataclasses import dataclass

from fedmpca.protocol.messages import Body

__all__ = ["ANSWERS", "COORDINATOR", "PAPER_VALUES", "WORDS", "Disclosure", "disclosure"]

COORDINATOR = "coordinator"

ANSWERS = {
    "StreamSums": "the number of assets and the sum of their streams",
    "InitialScatters": "the scatter of each mode",
    "ModeScatter": "the scatter of one mode, the others projected",
    "Captured": "the scatter that the factors keep",
}
"""What the answer to a query is, of one member or in total."""

WORDS = {
    ("any", "HelloAsk"): "which agreement it is about",
    ("any", "Hello"): "a key for this session",
    ("secure", "Ask"): "the question; the total of the one before, over all members: {before}",
    (
        "secure",
        "Reply",
    ): "{answer}, of its own assets, under masks shared with each other member: noise until all are added",
    ("plain", "Ask"): "the question; the total of the one before, over all members: {before}",
    ("plain", "Reply"): "{answer}, of its own assets, UNHIDDEN",
    ("any", "Refusal"): "the code of the rule by which it does not answer",
    ("any", "Close"): "the result; the total of the last question, over all members: {before}",
    ("any", "Closed"): "its signature under the whole conversation",
    ("any", "End"): "that the session ends, and the code of the reason",
    (
        "paper",
        "Share",
    ): "the question, and whatever boxes (of random tensors, for Algorithm 2) the others sealed for it",
    ("paper", "Boxes"): "one random tensor for each other member, or a basis for the next one, sealed",
    ("paper", "Pass"): "the question, and UNHIDDEN FOR IT, with their singular values, the vectors of {answer} of all "
    "members before it, if there are any: that is their scatter",
    ("paper", "Close"): "the result",
}
"""By profile and message. What a member tells the coordinator is seen by whoever carries messages, too."""

PAPER_VALUES = {
    "StreamSums": "its number of assets, UNHIDDEN, and its mean stream under real-valued masks: hidden in part",
    "InitialScatters": "the last member's: vectors and singular values of each mode, of all members together",
    "ModeScatter": "the last member's: vectors and singular values of the mode, of all members together",
    "Captured": "its own scatter that the factors keep, UNHIDDEN (one number)",
}
"""What the members of the paper's profile send to the coordinator, by query."""


OUT_OF_PLACE = "something that does not belong there: the session ends"


@dataclass(frozen=True)
class Disclosure:
    """One message: who said it, who can read it, what it tells."""

    round: int
    query: str
    sender: str
    seen_by: str
    what: str
    n_bytes: int


def disclosure(
    profile: str,
    body: Body,
    *,
    round_: int,
    query: str,
    kind: str,
    before: str,
    sender: str,
    seen_by: str,
    n_bytes: int,
) -> Disclosure:
    """The row of a message: `query` is its title, `kind` its class, `before` the class of the query before it."""
    name = type(body).__name__
    if profile == "paper" and name == "Values":
        what = PAPER_VALUES.get(kind, OUT_OF_PLACE)
    else:
        words = WORDS.get((profile, name)) or WORDS.get(("any", name), OUT_OF_PLACE)
        what = words.format(answer=ANSWERS.get(kind, ""), before=ANSWERS.get(before, "none yet, but everyone's hello"))
    return Disclosure(round_, query, sender, seen_by, what, n_bytes)
