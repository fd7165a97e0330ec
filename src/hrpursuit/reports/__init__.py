"""A page about how well a table of readings compresses: `study_table` computes it, `write_page` writes it."""

from hrpursuit.reports.page import write_page
from hrpursuit.reports.study import Study, study_table
from hrpursuit.reports.targets import read_targets

__all__ = ["Study", "read_targets", "study_table", "write_page"]
