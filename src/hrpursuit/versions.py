"""What a bug report needs to say about the machine."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "hrpursuit",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "llvmlite",
    "threadpoolctl",
    "joblib",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
)


def _version(package: str, absent: str = "not installed") -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return absent


__version__ = _version("hrpursuit", "0+unknown")  # a source tree that is not installed


def show_versions() -> None:
    """Print the versions of Python, this package and those that it uses, for a bug report."""
    from threadpoolctl import threadpool_info  # noqa: PLC0415 - only a bug report needs it

    print(f"{'python':<14} {sys.version.split()[0]} on {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package:<14} {_version(package)}")
    for library in threadpool_info():
        name, threads = f"{library['internal_api']} {library['version']}", library["num_threads"]
        print(f"{library['user_api']:<14} {name}, {threads} threads")
