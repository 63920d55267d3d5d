"""The command line: parse options, call one function of the rooms below, render its result."""
