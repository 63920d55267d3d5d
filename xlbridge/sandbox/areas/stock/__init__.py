"""Stock: movements, outputs, requisitions, addresses, inventories."""
