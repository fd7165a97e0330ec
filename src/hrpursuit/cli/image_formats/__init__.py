"""One file per format: reads and writes the pixels and the metadata."""
