"""The rules of the business system, the same for a single call and for an imported line."""
