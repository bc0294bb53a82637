"""Simulations of policies on click models."""

THREAD_NAMES = "slotwise-run"  # the names of threads that simulate begin with this
