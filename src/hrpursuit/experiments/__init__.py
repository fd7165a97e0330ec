"""Every figure and table of the paper, and ours beside it."""
