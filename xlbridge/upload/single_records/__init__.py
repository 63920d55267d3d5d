"""Records written one by one: creations and changes, several at a time, each proven."""
