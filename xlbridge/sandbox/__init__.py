"""The server that behaves as the spec says, for rehearsals and tests."""
