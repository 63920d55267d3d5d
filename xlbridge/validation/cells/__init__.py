"""The cells of one column: what each is, what was meant, and what is wrong with it."""
