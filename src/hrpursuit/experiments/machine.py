"""What results were computed on and with."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Packages that results depend on.
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "scikit-image", "PyWavelets", "spams-bin", "bm3d")


def machine() -> str:
    """Processor, system and Python."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    return f"{model}, {platform.system()}, Python {platform.python_version()}"


def versions(*packages: str) -> str:
    """Of these packages, as one line."""
    known = []
    for package in packages:
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            known.append(f"{package} not installed")
    return ", ".join(known)
