"""Fitted models in a file of plain arrays and text: no pickle, checks on the way in, nothing half-written."""

import dataclasses
import json
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hrpursuit.core.certificate import Certificate
from hrpursuit.core.options import HRPOptions
from hrpursuit.files import replaced_when_done

FORMAT = "hrpursuit-model"
VERSION = 1
_PAIRS = ("unstationary", "entangled", "ambiguous")  # of a certificate, kept as arrays
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, AttributeError, ValueError, OSError)
_DAMAGED += (NotImplementedError, OverflowError, MemoryError)  # what zipfile and numpy raise on flipped bytes
Model = TypeVar("Model")


def plain_parameters(model: Any) -> dict[str, Any]:
    """The constructor's parameters as plain values, without those that a file does not keep."""
    parameters = model.get_params(deep=False)
    parameters.pop("callback", None)
    parameters.pop("dict_init", None)
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = None
    if parameters.get("options") is not None:
        parameters["options"] = dataclasses.asdict(parameters["options"])
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def certificate_parts(certificate: Certificate) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A certificate as plain values and arrays."""
    values = dataclasses.asdict(certificate)
    return values, {name: values.pop(name) for name in _PAIRS}


def certificate_of(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Certificate:
    """The certificate of such parts; other arrays may be among them."""
    parts: dict[str, Any] = values | {name: arrays[name] for name in _PAIRS}
    return Certificate(**parts)


def save_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a model; one that learns from a stream may have no dictionary yet."""
    header, arrays = model._to_archive()
    header |= {"format": FORMAT, "version": VERSION, "class": type(model).__name__}
    if hasattr(model, "components_"):
        arrays |= {name: getattr(model, name) for name in model._matrices}
    else:
        header["has_components"] = False  # an online model that has not seen enough yet
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = np.asarray(model.feature_names_in_, dtype=np.str_)
    with replaced_when_done(path) as temporary, temporary.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header, default=lambda value: value.item())), **arrays)


def load_model(cls: type[Model], path: str | PathLike[str]) -> Model:
    """Read a fitted model; ValueError says what is wrong with the file."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist.")
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        kind = header["format"], header["version"], header["class"]
    except _DAMAGED as error:
        raise _unreadable(path) from error
    if kind[:2] != (FORMAT, VERSION):  # a version for all classes: each file is written and read by one release
        raise ValueError(
            f"{path} holds a {kind[0]} of version {kind[1]}; this hrpursuit reads {FORMAT} of version {VERSION}. "
            "Fit and save it anew."
        )
    if kind[2] != cls.__name__:
        raise ValueError(f"{path} holds a {kind[2]}, not a {cls.__name__}; load it with {kind[2]}.load.")
    try:
        return _model(cls, header, arrays)
    except _DAMAGED as error:
        raise _unreadable(path) from error


def _unreadable(path: str | PathLike[str]) -> ValueError:
    return ValueError(f"{path} is not a readable hrpursuit model: it is damaged, cut short or of another kind.")


def _model(cls: type[Model], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    given: dict[str, Any] | None = header["parameters"].get("options")
    if given is not None:
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        header["parameters"]["options"] = HRPOptions(**options)
    model: Any = cls._from_archive(header, arrays)  # type: ignore[attr-defined]
    model._validate_params()
    if header.get("has_components", True):
        _set_matrices(model, arrays)
    if "feature_names_in_" in arrays:
        if arrays["feature_names_in_"].shape != (model.n_features_in_,):
            raise ValueError("feature_names_in_ must name each feature.")
        model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
    return model


def _set_matrices(model: Any, arrays: dict[str, np.ndarray]) -> None:
    components = arrays["components_"]
    n = getattr(model, "n_features_in_", components.shape[1])
    if "encoder_" in model._matrices and not components.shape == arrays["encoder_"].shape == (n, n):
        raise ValueError("components_ and encoder_ are not square matrices of one size.")
    for name in model._matrices:
        if arrays[name].ndim != 2 or arrays[name].dtype not in (np.float32, np.float64):
            raise ValueError(f"{name} must be a matrix of floats.")
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} must be finite numbers.")
        setattr(model, name, arrays[name])
    model.n_features_in_ = n
