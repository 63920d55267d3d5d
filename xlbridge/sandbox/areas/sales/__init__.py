"""Sales: orders, product and service invoices, forecasts."""
