"""Executors, worker processes, the machine, progress and interruption."""
