"""What a chunk holds, and how readings come back from it."""
