"""The page of what each party sees is what the code says, and its rows are the messages that sessions really have."""

import importlib.util
import re
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest

import fedmpca as fm
from fedmpca.protocol import messages
from fedmpca.protocol.agreement import PROFILES
from fedmpca.protocol.disclosures import ANSWERS, PAPER_VALUES, WORDS
from fedmpca.protocol.messages import Envelope
from fedmpca.protocol.questions import CATALOGUE
from fedmpca.protocol.results import projection_bytes
from fedmpca.studies import queries
from fedmpca.studies.mpca import mpca_study
from fedmpca.transports.local import COORDINATOR

ROOT = Path(__file__).parents[2]
SHAPE, RANKS = (4, 3, 3), (2, 2, 1)


@pytest.fixture(scope="module")
def script():
    path = ROOT / "docs/reference/make_what_each_party_sees.py"
    spec = importlib.util.spec_from_file_location("make_what_each_party_sees", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bodies():
    return {kind.__name__ for kind in get_args(messages.Bodies)}


def sent(profile):
    """Each message of a session: its kind, and whether the coordinator or a member sent it."""
    seen = set()

    def note(sender, receiver, text):
        envelope = msgspec.msgpack.decode(text, type=Envelope)
        kind = msgspec.msgpack.decode(envelope.body)[0]
        seen.add((kind, "coordinator" if sender == COORDINATOR else "member"))
        return [(0.0, text)]

    streams = np.random.default_rng(0).normal(size=(9, *SHAPE))
    federation = fm.Federation.in_process({f"user-{n}": fm.Fleet(streams[n::3]) for n in range(3)}, profile)
    study = mpca_study(SHAPE, ranks=RANKS, variance_kept=0.97, tol=0.0, max_iter=1)
    parameters = {"ranks": RANKS, "tol": 0.0, "max_sweeps": 1}
    federation.run(study, parameters, as_bytes=projection_bytes, faults=note)
    return seen


def test_the_page_is_what_the_script_writes(script):
    page = (ROOT / "docs/reference/what-each-party-sees.md").read_text(encoding="utf-8")
    assert page == script.page(), "write it anew with `make docs`"


def test_every_query_has_words(script):
    of_the_page = {name for name in queries.__all__ if hasattr(getattr(queries, name), "answer")} - {"Query"}
    assert of_the_page == set(CATALOGUE) == set(script.TELLS) == set(ANSWERS) == set(PAPER_VALUES)


def test_every_profile_and_message_has_words(script):
    assert set(script.MESSAGES) == set(script.ROLES) == set(script.ABOUT) == set(PROFILES)
    assert set().union(*script.MESSAGES.values()) == bodies()
    for profile, rows in script.MESSAGES.items():
        told_by_query = {"Values"} if profile == "paper" else set()
        assert all({(profile, name), ("any", name)} & set(WORDS) for name in set(rows) - told_by_query)
    assert len({tuple(roles) for roles in script.ROLES.values()}) == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_the_rows_are_the_messages_of_a_session(script, profile):
    rows = {(name, sender) for name, (sender, _) in script.MESSAGES[profile].items()}
    assert sent(profile) == rows - {("Refusal", "member"), ("End", "coordinator")}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_record_of_a_session_has_the_words_of_the_page(script, profile):
    streams = np.random.default_rng(0).normal(size=(9, *SHAPE))
    federation = fm.Federation.in_process({f"user-{n}": fm.Fleet(streams[n::3]) for n in range(3)}, profile)
    fm.MPCA(ranks=RANKS, tol=0, max_iter=1).fit(federation)
    rows = script.MESSAGES[profile]
    words = [WORDS.get((profile, name)) or WORDS.get(("any", name), "") for name in rows]
    words = [re.sub(r"\\{\w+\\}", ".+", re.escape(text)) for text in words] + list(
        map(re.escape, PAPER_VALUES.values())
    )
    for what in federation.disclosures["what"]:
        assert any(re.fullmatch(text, what) for text in words), what
