"""The interface as data and types. Shared by the client and the sandbox."""
