"""What rehearsals need of a practice database."""
