"""Business areas of the sandbox: tables, rules and handlers."""
