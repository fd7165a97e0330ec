"""Packages that only some kinds of data need."""

import importlib
import sys
from types import ModuleType
from typing import Any

_OF_PIP = {"PIL": "pillow", "skimage": "scikit-image", "pywt": "PyWavelets"}


def needed(module: str, what_for: str, extra: str) -> ModuleType:
    """Import a package that comes with an extra, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".", maxsplit=1)[0]
        package = _OF_PIP.get(package, package)
        raise ImportError(
            f'{what_for} need {package}, which is not installed: pip install "hrpursuit[{extra}]", or {package}.'
        ) from error


def is_a(data: Any, module: str, *names: str) -> bool:
    """Whether data is of one of these classes of a module; it cannot be unless someone has imported the module."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(data, tuple(getattr(loaded, name) for name in names))
