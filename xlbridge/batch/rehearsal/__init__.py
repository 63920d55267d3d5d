"""A month rehearsed: the very same workbooks, in a private place, under faults."""
