"""`python -m slotwise` is the command `slotwise`."""

import sys


def main() -> None:
    """Run a command. It takes half a second to read, in which people change their minds, too."""
    try:
        from slotwise.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
