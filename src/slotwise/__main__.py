"""`python -m slotwise` is the command `slotwise`."""

from slotwise.cli import main

main()
