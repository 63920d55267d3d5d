"""The sandbox as a process, in the foreground or beside a command."""
