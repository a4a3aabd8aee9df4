"""The agreement: read as written, refused where anything in it is not understood, compared with each fleet."""

import numpy as np
import pytest
from federations import low_rank, split
from hypothesis import given
from hypothesis import strategies as st

import fedmpca as fm
from fedmpca.errors import AgreementError
from fedmpca.protocol.agreement import Agreement, write_agreement
from fedmpca.protocol.enrolment import check_layout

KEYS = {name: f"{number:064x}" for number, name in enumerate(("north", "south", "west"), start=1)}
ENTRIES = {"coordinator": "f" * 64, "shape": (7, 6, 5), "members": KEYS}


def written(**changes):
    return write_agreement(**{**ENTRIES, **changes})


def test_what_is_written_is_read():
    changes = {
        "ranks": (3, 2, 2),
        "tol": 1e-9,
        "allow_parts": True,
        "times": (0.5, 1.0, 2.0, 4.0, 8.0),
        "time_unit": "h",
    }
    agreement = Agreement.read(written(**changes))
    for name, value in {**ENTRIES, **changes}.items():
        assert getattr(agreement, name) == value
    assert agreement.variance_kept == 0.97
    assert agreement.roster == ["north", "south", "west"]
    assert agreement.key(1) == bytes.fromhex(KEYS["south"])
    assert agreement.key(3) == b"\xff" * 32


def test_the_hash_is_of_the_bytes():
    """A comment changes it: all hold the same file, not the same opinion of it."""
    text = written()
    assert Agreement.read(text).hash == Agreement.read(bytes(text)).hash
    assert Agreement.read(text + b"# agreed in May\n").hash != Agreement.read(text).hash


@given(st.permutations(list(KEYS)))
def test_members_are_numbered_by_their_keys(order):
    members = {name: KEYS[name] for name in order}
    assert Agreement.read(written(members=members)).roster == ["north", "south", "west"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": dict(list(KEYS.items())[:2])}, "2 members, which are too few: three are needed"),
        ({"members": dict(list(KEYS.items())[:1]), "allow_pair": True}, "1 members, which are too few"),
        ({"members": {**KEYS, "east": KEYS["west"]}}, "Two parties .* the same public key"),
        ({"coordinator": KEYS["west"]}, "Two parties .* the same public key"),
        ({"members": {**KEYS, "east": "ABC"}}, "the key 'ABC': a public key is 64 small hexadecimal digits"),
        ({"shape": (7, 0, 5)}, r"shape is \(7, 0, 5\)"),
        ({"shape": ()}, r"shape is \(\)"),
        ({"shape": "7,6,5"}, "shape is '7,6,5'"),
        ({"profile": "fast"}, "profile is 'fast': it is one of secure, paper, plain"),
        ({"ranks": (3, 2)}, r"ranks is \(3, 2\): give one rank for each mode"),
        ({"ranks": (8, 2, 2)}, r"ranks is \(8, 2, 2\)"),
        ({"times": (1.0, 2.0, 2.0, 3.0, 4.0)}, "times is .*: give one increasing age for each image"),
        ({"variance_kept": 1.5}, "variance_kept is 1.5"),
        ({"largest_value": 0}, "largest_value is 0: give a positive number"),
        ({"largest_value": float("inf")}, "largest_value is inf"),
        ({"most_assets": 2.5}, "most_assets is 2.5"),
        ({"wait_s": True}, "wait_s is True"),
        ({"allow_pair": 1}, "allow_pair is 1: say true or false"),
        ({"families": ("cauchy",)}, r"families is \('cauchy',\): name one or more of normal, sev"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"folds": 1}, "folds is 1: give 2 or more"),
        ({"lengths": (3, 6)}, r"lengths is \(3, 6\): give numbers of images"),
        ({"value_unit": 3}, "value_unit is 3: give a text"),
    ],
)
def test_what_no_session_could_be_held_under_is_refused(changes, message):
    with pytest.raises(AgreementError, match=message):
        written(**changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff", "cannot be read as TOML"),
        (b"shape = [", "cannot be read as TOML"),
        (b"", "no 'coordinator': every agreement says this"),
        (
            written().replace(b"shape", b"smallest_part = 1\nshape"),
            "has 'smallest_part', which this version does not know",
        ),
    ],
)
def test_what_is_no_agreement(text, message):
    with pytest.raises(AgreementError, match=message):
        Agreement.read(text)


def test_names_that_would_not_come_back_are_refused():
    with pytest.raises(AgreementError, match="cannot stand in an agreement"):
        written(members={'no"rth': KEYS["north"], **KEYS})


# Enrolment: each error names the member, its own value and the agreed one


def parts(**changes):
    return {**split(low_rank(30), [10, 12, 8]), **changes}


def missing(streams):
    streams = streams.copy()
    streams[3, 1, 2, 3] = np.nan
    return streams


ODD = {
    "shape": (
        lambda: fm.Fleet(low_rank(9, (7, 6, 4))),
        r"user-2 has streams of shape \(7, 6, 4\), and \(7, 6, 5\) was agreed",
    ),
    "ragged": (
        lambda: fm.Fleet([low_rank(1, (7, 6, n))[0] for n in (5, 4)]),
        r"user-2: .*4 to 5 images, and 5 were agreed.*prefix\(5\)",
    ),
    "missing": (lambda: fm.Fleet(missing(low_rank(9))), r"user-2: asset '4' has missing pixels \(NaN\).*fm.complete"),
}


@pytest.mark.parametrize("what", ODD)
def test_a_fleet_that_is_not_as_agreed_is_named_before_any_round(what):
    make, message = ODD[what]
    with pytest.raises(AgreementError, match=message):
        fm.Federation.in_process(parts(**{"user-2": make()}))


@pytest.mark.parametrize(
    ("agreed", "message"),
    [
        ({"dtype": "float32"}, "user-1 has streams of dtype float64, and float32 was agreed"),
        ({"largest_value": 2.0}, r"user-\d: asset '\d+' has a value of size \d.*, and at most 2 was agreed"),
        ({"times": (1.0, 2.0, 3.0, 4.0, 9.0)}, r"user-1 has images at ages \[1.0.*5.0\], and \[1.0.*9.0\] was agreed"),
        ({"smallest_fleet": 9}, "user-3 has 8 assets, and the smallest fleet allowed is 9"),
        ({"most_assets": 11}, "user-2 has 12 assets; at most 11 were agreed"),
    ],
)
def test_a_given_agreement_is_held_against_every_fleet(agreed, message):
    members = {f"user-{number}": f"{number:064x}" for number in (1, 2, 3)}
    agreement = written(members=members, **agreed)
    with pytest.raises(AgreementError, match=message):
        fm.MPCA(ranks=(3, 2, 2)).fit(fm.Federation.in_process(parts(), agreement=agreement))


def test_a_given_agreement_is_used():
    members = {f"user-{number}": f"{number:064x}" for number in (1, 2, 3)}
    agreement = written(members=members, largest_value=1e3, most_assets=50)
    model = fm.MPCA(ranks=(3, 2, 2)).fit(fm.Federation.in_process(parts(), agreement=agreement))
    assert model.n_assets_ == 30
    with pytest.raises(AgreementError, match="between user-1, user-2, user-3, and fleets were given of a, b, c"):
        fm.Federation.in_process(dict(zip("abc", parts().values(), strict=True)), agreement=agreement)


@pytest.mark.parametrize(
    ("fleets", "more", "message"),
    [
        (lambda: dict(list(parts().items())[:2]), {}, "2 members are too few for a federation: 3 are needed"),
        (lambda: dict(list(parts().items())[:1]), {"allow_pair": True}, "1 members are too few"),
        (lambda: list(parts().values()), {}, "a mapping of names to Fleet"),
        (lambda: {"a": np.zeros((3, 2)), "b": 1, "c": 2}, {}, "a mapping of names to Fleet"),
        (parts, {"profile": "best"}, "profile='best' is not known: it is one of secure, paper, plain"),
    ],
)
def test_what_is_no_federation(fleets, more, message):
    with pytest.raises((AgreementError, fm.errors.DataError), match=message):
        fm.Federation.in_process(fleets(), **more)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"value_unit": "K"}, "north has values in K, and degC was agreed: convert them"),
        ({"time_unit": "d"}, "north has ages in d, and h was agreed: convert them"),
    ],
)
def test_units_are_compared_where_both_are_known(own, message):
    agreement = Agreement.read(written(value_unit="degC", time_unit="h"))
    fleet = fm.Fleet(low_rank(9))
    check_layout("north", fleet, agreement, value_unit="degC", time_unit="h")
    with pytest.raises(AgreementError, match=message):
        check_layout("north", fleet, agreement, **own)


def test_a_federation_computes_where_its_members_are():
    with pytest.raises(fm.errors.DataError, match=r"device='cuda': the members of a federation compute where they are"):
        fm.MPCA(device="cuda").fit(fm.Federation.in_process(parts()))


def test_a_fit_that_was_not_agreed_is_refused():
    members = {f"user-{number}": f"{number:064x}" for number in (1, 2, 3)}
    agreement = written(members=members, largest_value=1e3, ranks=(3, 2, 2), max_sweeps=4)
    federation = fm.Federation.in_process(parts(), agreement=agreement)
    with pytest.raises(AgreementError, match=r"says ranks \(3, 2, 2\), and the fit was asked for \(2, 2, 2\)"):
        fm.MPCA(ranks=(2, 2, 2), max_iter=4).fit(federation)
    with pytest.raises(AgreementError, match="says max_sweeps 4, and the fit was asked for 50"):
        fm.MPCA(ranks=(3, 2, 2)).fit(federation)
    assert fm.MPCA(ranks=(3, 2, 2), tol=0, max_iter=4).fit(federation).n_iter_ == 4
    with pytest.raises(AgreementError, match="says profile 'secure', and 'paper' was asked for"):
        fm.Federation.in_process(parts(), "paper", agreement=agreement)
