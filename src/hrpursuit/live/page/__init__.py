"""The page that shows a stream as it comes, and the metrics for Prometheus."""

from hrpursuit.live.page.history import History
from hrpursuit.live.page.server import Server, read_place

__all__ = ["History", "Server", "read_place"]
