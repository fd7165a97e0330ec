"""A page about how well a table of readings compresses: `study` computes it, `write_page` writes it."""

from hrpursuit.reports.page import write_page
from hrpursuit.reports.study import Study, study
from hrpursuit.reports.targets import Goal, read_targets

__all__ = ["Goal", "Study", "read_targets", "study", "write_page"]
