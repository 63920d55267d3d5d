"""Purchasing: requisitions, orders, purchase orders, spending limits."""
