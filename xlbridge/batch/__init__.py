"""Batches: ordered plans of many workbooks and exports, and the proof that closes them."""
