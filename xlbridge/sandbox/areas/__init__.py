"""Business areas of the sandbox: tables, rules, handlers and seed of each."""
