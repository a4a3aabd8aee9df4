"""`save` and `load`: a fitted model as one file, of its class, its parameters and what it learnt."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from sklearn.utils.validation import check_is_fitted

from fedmpca.errors import DataError, ModelFileError
from fedmpca.storage.archive import AGAIN, read_archive, write_archive
from fedmpca.storage.atomic import write_whole
from fedmpca.storage.models import MODELS, is_whole
from fedmpca.storage.values import Arrays, MalformedError, decode, encode, keys

__all__ = ["load", "save"]

FORMAT = "fedmpca-model"
FORMAT_VERSION = 1
ALSO_KEPT = ("_sklearn_output_config",)
"""What `set_output` was told; every other attribute that is kept ends in one underscore."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file, whole or not at all.

    Parameters
    ----------
    model : MPCA
        Fitted. Its parameters and learnt attributes are kept to the bit.
    path : str or path
        Replaced where it exists.

    Raises
    ------
    NotFittedError
        Where the model has learnt nothing yet.
    DataError
        Where an attribute cannot be saved (named) or was changed by hand, or the file cannot be written.

    Examples
    --------
    >>> import fedmpca as fm
    >>> fm.save(fm.MPCA().fit(fleet), "pump.fedmpca")  # doctest: +SKIP
    """
    if type(model) not in MODELS.values():
        raise DataError(f"A {type(model).__name__} cannot be saved. These models can: {', '.join(MODELS)}.")
    check_is_fitted(model)
    if not is_whole(model):
        raise DataError(f"What this {type(model).__name__} learnt was changed since: fit it again, then save it.")
    arrays: Arrays = {}
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": version("fedmpca"),
        "class": type(model).__name__,
        "parameters": {name: encode(value, name, arrays) for name, value in model.get_params(deep=False).items()},
        "learnt": {
            name: encode(value, name, arrays) for name, value in sorted(vars(model).items()) if _is_learnt(name)
        },
    }
    write_whole(path, lambda file: write_archive(file, manifest, arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote. Nothing in the file is run, and all of it is checked.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    MPCA
        With the same parameters and learnt attributes, to the bit.

    Raises
    ------
    ModelFileError
        Where the file is missing, damaged, cut short, newer than this version, or no model file. The message names it.

    Examples
    --------
    >>> import fedmpca as fm
    >>> fm.load("pump.fedmpca").transform(fm.load_fleet("plant-7"))  # doctest: +SKIP
    """
    source = Path(path)
    try:
        with _opened(source) as file:
            return _model(*read_archive(file))
    except MalformedError as problem:
        raise ModelFileError(f"{source} {problem}.") from problem
    except OSError as error:
        raise ModelFileError(
            f"{source} cannot be read ({error.strerror or error}): check its permissions, or {AGAIN}."
        ) from error


def _is_learnt(name: str) -> bool:
    return name in ALSO_KEPT or (name.endswith("_") and not name.startswith("_"))


def _opened(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise MalformedError("is a folder, not a model file: for a fleet use load_fleet")
    if not path.exists():
        raise MalformedError("does not exist: check the path; save(model, path) writes a model file")
    if not path.is_file():
        raise MalformedError("is no ordinary file: copy the model to one")
    return open(path, "rb")


def _model(manifest: dict[str, Any], arrays: Arrays) -> Any:
    """The model, where its parameters and attributes are ones that its class has."""
    _check_version(manifest)
    keys(manifest, {"format", "format_version", "package_version", "class", "parameters", "learnt"}, "model.json")
    name = manifest["class"]
    if not isinstance(name, str) or name not in MODELS:
        raise MalformedError(f"holds a {str(name)[:40]!r}, which this version cannot load; it can: {', '.join(MODELS)}")
    kind = MODELS[name]
    parameters = keys(manifest["parameters"], set(kind._get_param_names()), f"list of the parameters of {name}")
    model = kind(**{key: decode(value, arrays) for key, value in parameters.items()})
    learnt = manifest["learnt"]
    if not isinstance(learnt, dict) or not all(_is_learnt(key) and not hasattr(kind, key) for key in learnt):
        raise MalformedError(f"has no proper list of what the {name} learnt: this package did not write it")
    vars(model).update({key: decode(value, arrays) for key, value in learnt.items()})
    if not is_whole(model):
        raise MalformedError(f"does not hold what a fitted {name} has learnt: this package did not write it")
    return model


def _check_version(manifest: dict[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise MalformedError("is no model file of this package: check the path")
    found = manifest.get("format_version")
    if type(found) is not int or found < 1:
        raise MalformedError("names no proper format version: this package did not write it")
    if found > FORMAT_VERSION:
        raise MalformedError(
            f"has format version {str(found)[:20]}, written by fedmpca {str(manifest.get('package_version'))[:20]}; "
            f"fedmpca {version('fedmpca')} reads format versions up to {FORMAT_VERSION}: upgrade fedmpca"
        )
