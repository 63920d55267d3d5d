"""The state machine of an upload, and its steps."""
