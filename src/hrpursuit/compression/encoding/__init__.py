"""How readings become a chunk: whole numbers, ways to code them, and the search for the shortest."""
