"""Records written one by one: created, changed, several on their way, each proven."""
