"""Edits that make of a true model file one that must be refused, each with what its refusal says.

An edit changes the manifest and the other members in place; whoever writes them makes every checksum right.
"""

import io

import numpy as np
from model_samples import npy

BUILT = "this package did not write it"


def top(**entries):
    return lambda manifest, members: manifest.update({name.rstrip("_"): value for name, value in entries.items()})


def learnt(**entries):
    return lambda manifest, members: manifest["learnt"].update(entries)


def parameter(**entries):
    return lambda manifest, members: manifest["parameters"].update(entries)


def mean(dtype="<f8", shape=(2,), member=None, **more):
    def edit(manifest, members):
        manifest["arrays"]["mean_.npy"].update({"dtype": dtype, "shape": list(shape), **more})
        members["mean_.npy"] = npy(shape, dtype, bytes(16)) if member is None else member

    return edit


def without(part, name):
    return lambda manifest, members: manifest[part].pop(name)


def unlisted(manifest, members):
    members["more.npy"] = npy((1,), "<f8", bytes(8))


def absent(manifest, members):
    del members["mean_.npy"]


PICKLED = io.BytesIO()
np.lib.format.write_array(PICKLED, np.array([{}], dtype=object), allow_pickle=True)

EDITS = {
    # The manifest as a whole
    "another format": (top(format="other"), "is no model file of this package"),
    "a newer version": (top(format_version=2), "has format version 2, .* up to 1: upgrade fedmpca"),
    "a much newer version": (top(format_version=10**4000), "has format version 10{19}, .*upgrade"),
    "no version": (top(format_version="1"), "names no proper format version"),
    "version true": (top(format_version=True), "names no proper format version"),
    "version 0": (top(format_version=0), "names no proper format version"),
    "an entry too many": (top(more=1), "no proper model.json"),
    "another class": (top(class_="Pipeline"), "holds a 'Pipeline', which this version cannot load; it can: MPCA"),
    "a class by its path": (top(class_="os.system"), "holds a 'os.system', which"),
    "a class that is no text": (top(class_=["MPCA"]), "cannot load; it can: MPCA"),
    "a parameter too many": (parameter(hook="x"), "no proper list of the parameters of MPCA"),
    "a parameter too few": (without("parameters", "tol"), "no proper list of the parameters of MPCA"),
    "parameters as a list": (top(parameters=[]), "no proper list of the parameters"),
    # What was learnt
    "nothing learnt": (top(learnt={}), f"does not hold what a fitted MPCA has learnt: {BUILT}"),
    "learnt as a list": (top(learnt=[]), f"no proper list of what the MPCA learnt: {BUILT}"),
    "something else learnt": (top(learnt={"x_": 1}), "does not hold what a fitted MPCA has learnt"),
    "a method shadowed": (learnt(transform=1), "no proper list of what the MPCA learnt"),
    "a property shadowed": (learnt(captured_ratio_=1), "no proper list"),
    "a parameter among them": (learnt(tol=1), "no proper list"),
    "the class itself": (learnt(__class__="x"), "no proper list"),
    "the attributes themselves": (learnt(__dict__={"dict": []}), "no proper list"),
    "a private one": (learnt(_repr_html_="x"), "no proper list"),
    "scikit-learn's own answer": (learnt(__sklearn_is_fitted__=True), "no proper list"),
    "a mean that is text": (learnt(mean_="x"), "does not hold what"),
    "no factors": (without("learnt", "factors_"), "does not hold what"),
    "factors of another shape": (learnt(factors_={"tuple": [{"array": "mean_.npy"}]}), "does not hold what"),
    "ranks of another number": (learnt(ranks_={"tuple": [1, 1]}), "does not hold what"),
    "a count that is a share": (learnt(n_iter_=0.5), "does not hold what"),
    "no variation": (learnt(total_scatter_=0.0), "does not hold what"),
    "odd set_output": (learnt(_sklearn_output_config="x"), "does not hold what"),
    # Values
    "unknown kind": (learnt(x_={"object": "x"}), "value of unknown kind 'object'"),
    "two kinds": (learnt(x_={"tuple": [], "dict": []}), "value of unknown kind 'tuple'"),
    "no kind": (learnt(x_={}), "value of unknown kind 'nothing'"),
    "a tuple that is none": (learnt(x_={"tuple": 3}), "not written as a list"),
    "a dict of triples": (learnt(x_={"dict": [[1, 2, 3]]}), "entries are not pairs"),
    "a dict with a list as key": (learnt(x_={"dict": [[[], 2]]}), "a key that cannot be one"),
    "an array as key": (learnt(x_={"dict": [[{"array": "mean_.npy"}, 2]]}), "a key that cannot be one"),
    "an array that is not there": (learnt(x_={"array": "x.npy"}), "an array that it does not hold"),
    "an array without a name": (learnt(x_={"array": ["mean_.npy"]}), "an array that it does not hold"),
    "a float of text": (learnt(x_={"float": "no"}), "not written as hexadecimal"),
    "a float of few bytes": (learnt(x_={"float": "00"}), "a number of 1 bytes where 8 belong"),
    "a float that is a number": (learnt(x_={"float": 3}), "not written as hexadecimal"),
    "a scalar of objects": (learnt(x_={"scalar": {"dtype": "|O", "bits": "00" * 8}}), "dtype '|O': only numbers"),
    "a scalar of more": (learnt(x_={"scalar": {"dtype": "<f8", "bits": "00" * 9}}), "9 bytes where 8 belong"),
    "names that are numbers": (learnt(x_={"names": {"shape": [1], "entries": [1]}}), "an entry that is no text"),
    "names of another shape": (learnt(x_={"names": {"shape": [2], "entries": ["a"]}}), "do not agree"),
    "no names, absurdly many": (learnt(x_={"names": {"shape": [0, 10**30], "entries": []}}), "do not agree"),
    "no names, too many to count": (learnt(x_={"names": {"shape": [0, 2**62, 8], "entries": []}}), "do not agree"),
    "names in 65 axes": (learnt(x_={"names": {"shape": [1] * 65, "entries": ["a"]}}), "no list of lengths"),
    "a table that is none": (learnt(x_={"table": {"x": [1]}}), "not written as a list"),
    "a table of triples": (learnt(x_={"table": [["x", ["a"], 1]]}), "columns are not pairs of a name and values"),
    "a table with a column twice": (learnt(x_={"table": [["x", ["a"]], ["x", ["a"]]]}), "columns are not pairs"),
    "a table with a column of numbers": (learnt(x_={"table": [["x", [1]]]}), "a column that is none, or too short"),
    "a table with a column of columns": (
        learnt(x_={"table": [["x", {"array": "factors_.0.npy"}]]}),
        "a column that is",
    ),
    "a table with a short column": (
        learnt(x_={"table": [["x", ["a"]], ["y", []]]}),
        "a column that is none, or too short",
    ),
    "a table with a column that is a number": (learnt(x_={"table": [["x", 1]]}), "a column that is none"),
    "not JSON": (parameter(tol=float("nan")), "has a model.json that cannot be read"),
    # Arrays
    "objects": (mean("|O", member=PICKLED.getvalue()), r"names dtype '\|O': only numbers and booleans are read"),
    "records": (mean([["a", "<f8"]], member=b""), "names dtype .*only numbers"),
    "long double": (mean("<f16", (1,)), "names dtype '<f16': only numbers"),
    "an absurd shape": (mean(shape=(2**60,)), "has 16 bytes in mean_.npy, which its shape cannot have"),
    "an absurd shape of nothing": (mean(shape=(0, 10**30), member=npy((0, 10**30))), "is damaged .*dimension"),
    "a negative shape": (mean(shape=(-2,)), "names a shape that is no list of lengths"),
    "a shape that is no whole number": (mean(shape=(2.0,)), "no list of lengths"),
    "a shape of truth": (mean(shape=(True,)), "no list of lengths"),
    "a shape in too many axes": (mean(shape=(1,) * 100), "no list of lengths"),
    "a shape that is a text": (lambda m, _: m["arrays"]["mean_.npy"].update(shape="2"), "no list of lengths"),
    "another header": (mean(member=npy((1, 2), "<f8", bytes(16))), f"mean_.npy that is not what model.json.*{BUILT}"),
    "objects behind a header": (mean(member=PICKLED.getvalue()), "mean_.npy that is not what model.json says"),
    "no header": (mean(member=b""), "mean_.npy that is not what model.json says"),
    "a description too long": (mean(more=1), "no proper description of mean_.npy"),
    "a checksum that is none": (lambda m, _: m.update(arrays=dict.fromkeys(m["arrays"], 3)), "no proper description"),
    "an array too many": (unlisted, "lacks an array that it lists, or has one that it does not list"),
    "an array too few": (absent, "lacks an array"),
    "no list of arrays": (lambda m, _: m.pop("arrays"), "lacks an array"),
    "arrays as a list": (top(arrays=[]), "lacks an array"),
}
