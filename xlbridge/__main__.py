"""``python -m xlbridge`` is the same as ``xlbridge``."""

from xlbridge.cli.main import run

if __name__ == "__main__":
    run()
