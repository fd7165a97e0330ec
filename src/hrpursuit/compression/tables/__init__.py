"""Tables taken apart into columns, names and labels, and put together again."""
