"""Fitted models in a file of plain arrays and text: no pickle, checks on the way in, nothing half-written.

A class says what a file keeps of it in `_saved`, a dictionary of attributes and their types (`kinds` has the words);
those of its bases are kept as well. A fitted attribute (its name ends in _) of type `... | None` may be absent. The
parameters of the constructor are kept without being listed, by their annotations, and checked as `fit` does; one that
is an array, as `dict_init`, is listed. A method `_check_loaded` may check, and complete, a model that was read.

The file is a ZIP archive of .npy arrays, one of them the text `header`. Members are not compressed, so that nothing
can take more memory than the file is long. One model always gives the same bytes.
"""

import io
import json
import math
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_type_hints

import numpy as np

from hrpursuit.estimators.kinds import Arrays, check_names, from_plain, to_plain
from hrpursuit.files import replaced_when_done

FORMAT = "hrpursuit-model"
VERSION = 1
_NOT_KEPT = ("callback",)
_TITLES = ("format", "version", "class", "parameters", "fitted")
Model = TypeVar("Model")


def saved_attributes(cls: type) -> dict[str, Any]:
    """What a file keeps of a class, with the types; a parameter that a base lists and the class has not is left out."""
    declared: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get("_saved", {})
    parameters: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
    return {name: kind for name, kind in declared.items() if "_" in (name[0], name[-1]) or name in parameters}


def save_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a model; ValueError, and no file, if `load_model` would not take it."""
    cls = type(model)
    arrays: Arrays = {}
    given = {name: (kind, getattr(model, name)) for name, kind in _parameters(cls).items()}
    if not isinstance(model.random_state, int | np.integer):
        given["random_state"] = None, None
    header = {
        "format": FORMAT,
        "version": VERSION,
        "class": cls.__name__,
        "parameters": {name: to_plain(kind, value, name, arrays) for name, (kind, value) in given.items()},
        "fitted": {
            name: to_plain(kind, getattr(model, name, None), name, arrays)
            for name, kind in saved_attributes(cls).items()
        },
    }
    try:
        _model(cls, header, dict(arrays))
    except ValueError as error:
        raise ValueError(f"this {cls.__name__} cannot be saved: {error}") from error
    arrays["header"] = np.array(json.dumps(header, sort_keys=True, allow_nan=False))
    n_bytes = sum(array.nbytes for array in arrays.values())
    with replaced_when_done(path, n_bytes=n_bytes) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, array in sorted(arrays.items()):
            member = zipfile.ZipInfo(f"{name}.npy")  # of 1980, for ever
            member.create_system, member.external_attr = 3, 0o600 << 16  # as on Unix, also elsewhere
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


def load_model(cls: type[Model], path: str | PathLike[str]) -> Model:
    """Read a fitted model; ValueError says what is wrong with the file."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist.")
    with Path(path).open("rb") as file:
        try:
            arrays = _members(file)
            header = json.loads(arrays.pop("header").item())
            version, name = header["version"], header["class"]
            if header["format"] != FORMAT or type(version) is not int or not name.isidentifier():
                raise ValueError("the header does not say what the file holds.")
        except Exception as error:  # zipfile, json and numpy raise errors of a dozen kinds on damaged files
            raise _unreadable(path) from error
    if version != VERSION:  # a version for all classes: each file is written and read by one release
        raise ValueError(
            f"{path} holds a {FORMAT} of version {version}; this hrpursuit reads {FORMAT} of version {VERSION}. Fit "
            "and save it again."
        )
    if name != cls.__name__:
        raise ValueError(f"{path} holds a {name:.40}, not a {cls.__name__}; load it with {name:.40}.load.")
    try:
        return _model(cls, header, arrays)
    except Exception as error:
        raise _unreadable(path) from error


def _unreadable(path: str | PathLike[str]) -> ValueError:
    return ValueError(f"{path} is not a readable hrpursuit model: it is damaged, cut short or of another kind.")


def _parameters(cls: type) -> dict[str, Any]:
    """Parameters of the constructor that a file keeps, with their types."""
    hints = get_type_hints(cls.__init__, include_extras=True)  # type: ignore[misc]
    names: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
    return {name: hints[name] for name in names if name not in (*_NOT_KEPT, *saved_attributes(cls))}


def _members(file: BinaryIO) -> Arrays:
    """The arrays of an archive; none of them is read before it is known to be no longer than the file."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        n_bytes = file.seek(0, io.SEEK_END)
        if any(one.compress_type != zipfile.ZIP_STORED or not one.filename.endswith(".npy") for one in members):
            raise ValueError("a member is compressed, or of another kind.")
        if sum(one.file_size for one in members) > n_bytes or len({one.filename for one in members}) < len(members):
            raise ValueError("members overlap, or are there twice.")
        return {one.filename.removesuffix(".npy"): _array(archive.read(one)) for one in members}


def _array(data: bytes) -> np.ndarray:
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of another version.")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "fiU" or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"an array of {dtype} and shape {shape} does not fit its {len(data)} bytes.")
    order: Any = "F" if is_fortran else "C"
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order=order).copy(order)


def _model(cls: type[Model], header: dict[str, Any], arrays: Arrays) -> Model:
    kinds, declared = _parameters(cls), saved_attributes(cls)
    sizes: dict[str, int] = {}
    check_names(header, _TITLES, "the header")
    check_names(header["parameters"], list(kinds), "parameters")
    check_names(header["fitted"], list(declared), "fitted")
    given = {name: from_plain(kind, header["parameters"][name], name, arrays, sizes) for name, kind in kinds.items()}
    model: Any = cls(**given)
    for name, kind in declared.items():
        value = from_plain(kind, header["fitted"][name], name, arrays, sizes)
        if type(value) is int:
            sizes[name] = value
        if value is not None or not name.endswith("_"):
            setattr(model, name, value)
    if arrays:
        raise ValueError(f"unknown arrays: {', '.join(arrays)}.")
    model._validate_params()
    if hasattr(model, "_check_loaded"):
        model._check_loaded()
    return model
