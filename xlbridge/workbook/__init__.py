""".xlsx in and out: the safety gate, the reader, the writers, templates and annotations."""
