"""Benchmarks: times relative to a baseline in the same run; they are not part of the test suite."""
