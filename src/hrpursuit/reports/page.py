"""Writes the report as a single HTML page that needs no other file and no network."""

import json
from pathlib import Path

from hrpursuit.files import replaced_when_done
from hrpursuit.reports.packing import pack
from hrpursuit.reports.study import Study
from hrpursuit.rows.optional import needed

_HERE = Path(__file__).parent / "assets"
_SCRIPTS = ("start.js", "colours.js", "heat.js", "plots.js", "sensors.js", "hours.js", "slider.js")


def write_page(study: Study, path: Path, title: str) -> None:
    """Write the page; it appears whole or not at all.

    Parameters
    ----------
    study : Study
        What it shows.
    path : Path
        Where it goes.
    title : str
        Its heading.
    """
    text = render(study, title)
    with replaced_when_done(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def render(study: Study, title: str) -> str:
    """The page as text."""
    jinja = needed("jinja2", "Reports", "report")
    environment = jinja.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((_HERE / "page.html.j2").read_text(encoding="utf-8"))
    packed = pack(study, title)
    return template.render(
        title=title,
        study=study,
        figures=_in_script(json.dumps(packed.figures, allow_nan=False, separators=(",", ":"))),
        cells=packed.cells,
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        script="\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS),
    )


def _in_script(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
