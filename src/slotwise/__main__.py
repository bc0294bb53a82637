"""`python -m slotwise` is the command `slotwise`."""

import sys


def main() -> None:
    """Run the command line. The import takes half a second, and Ctrl-C during it also ends without a traceback."""
    try:
        from slotwise.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
