"""Rules against the live system: what a judged sheet names must be there, and what it adds not."""
