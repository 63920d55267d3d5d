"""Registry: clients, contacts, suppliers, products and code lists."""
