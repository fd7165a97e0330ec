"""One page with every figure and table next to the paper's own numbers; it needs no other file and no network."""

import base64
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.machine import PACKAGES, machine, versions
from hrpursuit.experiments.output import Outcome
from hrpursuit.files import replaced_when_done
from hrpursuit.rows.optional import needed

_TEMPLATE = Path(__file__).with_name("report.html.j2")


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
    words = Counter(verdict.word for verdict in verdicts)
    page = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        outcomes=outcomes,
        settings=settings,
        machine=machine(),
        versions=versions("hrpursuit", *PACKAGES),
        n_jobs=n_jobs,
        minutes=seconds / 60,
        words=words,
        n_failures=sum(len(outcome.results.failures) for outcome in outcomes if outcome.results),
    )
    with replaced_when_done(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
