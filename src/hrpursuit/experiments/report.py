"""One page with every figure and table next to the paper's own numbers; it needs no other file and no network."""

import base64
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.output import Outcome
from hrpursuit.files import replaced_when_done
from hrpursuit.rows.optional import needed

_TEMPLATE = Path(__file__).with_name("report.html.j2")
_PACKAGES = ("hrpursuit", "numpy", "scipy", "numba", "scikit-learn", "spams-bin")


def machine() -> str:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    return f"{model}, {platform.system()}, Python {platform.python_version()}"


def versions() -> str:
    known = []
    for package in _PACKAGES:
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            known.append(f"{package} not installed")
    return ", ".join(known)


def _embedded(picture: Path) -> str:
    return base64.b64encode(picture.read_bytes()).decode()


def _width(picture: Path) -> int:
    """Of a PNG on the page: 96 pixels an inch, where it has 150."""
    return int.from_bytes(picture.read_bytes()[16:20], "big") * 96 // 150


def write_report(outcomes: Sequence[Outcome], settings: Settings, path: Path, n_jobs: int, seconds: float) -> None:
    """Write the page; it appears whole or not at all."""
    jinja = needed("jinja2", "Reports", "experiments")
    environment = jinja.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"embedded": _embedded, "width": _width}
    verdicts = [verdict for outcome in outcomes if outcome.findings for verdict in outcome.findings.verdicts]
    page = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        outcomes=outcomes,
        settings=settings,
        machine=machine(),
        versions=versions(),
        n_jobs=n_jobs,
        minutes=seconds / 60,
        n_paper=sum(verdict.is_paper for verdict in verdicts),
        n_agree=sum(verdict.is_paper and verdict.agrees for verdict in verdicts),
        n_ours=sum(not verdict.is_paper for verdict in verdicts),
        n_hold=sum(not verdict.is_paper and verdict.agrees for verdict in verdicts),
        n_failures=sum(len(outcome.results.failures) for outcome in outcomes if outcome.results),
    )
    with replaced_when_done(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
