"""From a file to its cells: the gate, the parser and its process, and what the raw XML tells."""
