"""mobench beside its peers and beside the machine's limits: `python -m benchmarks.peers`."""
