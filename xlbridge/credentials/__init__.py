"""Where passwords and tokens are kept, and the profiles that they belong to are written."""
