"""`python -m slotwise` is the command `slotwise`."""

import sys


def main() -> None:
    """Run the command line. Importing it takes half a second; an interrupt during the import also ends quietly."""
    try:
        from slotwise.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
