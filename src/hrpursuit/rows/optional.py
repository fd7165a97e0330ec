"""Packages that only some kinds of data need."""

import importlib
from types import ModuleType

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
