"""Two revisions of mobench, measured in turn on this machine: `python -m benchmarks.compare BASE HEAD`."""
