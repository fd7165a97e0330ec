"""The bytes of a file: header, chunks with checksums, the list of chunks at the end."""
