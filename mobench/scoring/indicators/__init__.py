"""Indicators: pure functions on arrays, from hypervolume to rank tests."""
