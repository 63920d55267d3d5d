"""Which sheet holds the data, in which row it begins, and which column is which."""
