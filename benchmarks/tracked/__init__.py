"""What asv measures, one file per layer; `kernels` holds the set-up that pytest-benchmark shares."""
