"""One file a format: pixels and what stands beside them, read and written."""
