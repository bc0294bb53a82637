"""Benchmarks measure times relative to a baseline in the same run. They are not part of the test suite."""
