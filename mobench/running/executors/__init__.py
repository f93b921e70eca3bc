"""Executors: where jobs are done. One module each, found because it is there."""
